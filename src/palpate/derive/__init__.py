"""Equations of motion: derived, printed, checked and repaired."""
