"""The search for the smallest correction."""
