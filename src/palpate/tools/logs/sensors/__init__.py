"""What a recording says of the robot's sensors and joints: bias of the wrist's sensor, stiffness of the joints."""
