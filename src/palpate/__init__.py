"""Design, simulate and prove controllers for robots that touch things."""
