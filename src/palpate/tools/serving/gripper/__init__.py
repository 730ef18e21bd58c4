"""The gripper behind its own port."""
