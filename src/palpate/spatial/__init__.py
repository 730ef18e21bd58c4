"""Positions, rotations, poses, twists and wrenches."""
