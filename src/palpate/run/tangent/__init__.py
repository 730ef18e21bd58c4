"""The loop to first order: the map of its own control tick, what of it is a loop, and its poles."""
