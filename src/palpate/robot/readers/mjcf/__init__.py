"""MJCF."""
