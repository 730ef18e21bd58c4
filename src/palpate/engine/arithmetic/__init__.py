"""Arithmetic of the mathematical functions: bits, numbers in two parts, polynomials, sines, rows of lanes."""
