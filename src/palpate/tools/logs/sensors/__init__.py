"""Sensors and joints of a robot from its recording: bias of the wrist's sensor, stiffness of the joints."""
