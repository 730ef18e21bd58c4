"""Forecast of a run and its distance from instability, computed with the loop itself."""
