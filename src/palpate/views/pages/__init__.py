"""Pages: report, comparison, sweep, replay."""
