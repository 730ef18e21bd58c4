"""From the loop's samples to a trace and its warnings."""
