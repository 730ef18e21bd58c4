"""Which contacts separate, slide or stick, and the accelerations that follow."""
