"""How names and formulas are spelt: plain text, LaTeX, MathML."""
