"""Published results as data, one file for each source."""
