"""Runs of a plan: in this process, in several, on a cluster; their rows and files."""
