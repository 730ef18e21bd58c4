"""Links, inertias and the terms of the equations of motion."""
