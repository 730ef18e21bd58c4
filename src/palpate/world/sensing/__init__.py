"""Sensing: sensors, their noise, delays and faults."""
