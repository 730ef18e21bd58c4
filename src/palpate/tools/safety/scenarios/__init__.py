"""Scenarios of this tool, one .toml file each."""
