"""The recursive algorithms on symbols: every quantity of a tree as nodes of one graph."""
