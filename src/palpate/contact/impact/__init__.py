"""Velocities after a collision."""
