"""Shapes, contacts, and the kinematics of a point that touches."""
