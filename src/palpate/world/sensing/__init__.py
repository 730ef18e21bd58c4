"""What the law gets to see: sensors, their noise, delays and faults."""
