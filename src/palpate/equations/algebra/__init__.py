"""Expressions as a graph: made, differentiated, evaluated exactly, exchanged with SymPy."""
