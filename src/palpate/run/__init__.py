"""Assemble the parts of a run, step them through time, and record what happened."""
