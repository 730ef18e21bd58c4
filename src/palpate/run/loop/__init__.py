"""The loop's kernels, its record and the row that is recorded."""
