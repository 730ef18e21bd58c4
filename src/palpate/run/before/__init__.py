"""Checks and predictions before the first step."""
