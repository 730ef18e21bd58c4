"""Comparison of given formulas with the right ones."""
