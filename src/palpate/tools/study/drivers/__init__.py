"""Drivers: how each method makes its runs."""
