"""Expressions as they were written: trees with their position in the text, and what they are worth."""
