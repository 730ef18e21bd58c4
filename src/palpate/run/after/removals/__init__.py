"""Removals: parts of a run, each with the run that lacks it."""
