"""Errors in a scenario and settings without effect, each with its line."""
