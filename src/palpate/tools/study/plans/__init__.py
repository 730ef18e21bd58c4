"""What is varied, over which values, and in which runs."""
