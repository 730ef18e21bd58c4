"""Published results as data, one file for each source; one without `read` was written from memory."""
