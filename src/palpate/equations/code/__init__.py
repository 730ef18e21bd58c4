"""Straight-line programs from graphs, as Python and C."""
