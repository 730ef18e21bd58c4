"""Textbook results as data, one file for each book; written from memory, not copied from its print."""
