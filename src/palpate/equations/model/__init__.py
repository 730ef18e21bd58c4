"""The tree of links, with names for its numbers."""
