"""Surfaces as the plant sees them: their forms, and what of the robot touches them."""
