"""Commands of a served arm."""
