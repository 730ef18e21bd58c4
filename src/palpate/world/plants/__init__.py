"""The two plants, engine and equations, and what both are made of."""
