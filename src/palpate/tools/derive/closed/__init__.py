"""Closed forms: trigonometric polynomials in normal form, arranged as a person writes them."""
