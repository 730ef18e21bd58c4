"""URDF and xacro."""
