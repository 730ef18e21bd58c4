"""What the arm is: its description, its kinematics and its dynamics."""
