"""Statics, ellipsoids, reduced and linear models of robots in contact."""
