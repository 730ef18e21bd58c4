"""From the files and tables people have to a robot, with every problem reported: URDF, MJCF, DH."""
