"""Denavit–Hartenberg tables."""
