"""Derivations on paper: notation, sections, worked steps, pages."""
