"""Reading formulas: LaTeX, plain text, programs."""
