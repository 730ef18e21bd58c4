"""Scenario files: reading, line numbers, overrides, a first file to start from."""
