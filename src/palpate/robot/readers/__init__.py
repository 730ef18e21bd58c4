"""From the files and tables people have to a robot, with every problem told: URDF, MJCF, DH."""
