"""Linear models of arm, law and loop, and their poles."""
