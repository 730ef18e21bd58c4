"""Scenarios that show parts of the documents, found by their names."""
