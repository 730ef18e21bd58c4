"""The fastest stop in compiled code: its problem, its search, and the ticks of the law."""
