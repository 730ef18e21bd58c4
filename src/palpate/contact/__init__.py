"""Exact hybrid dynamics."""
