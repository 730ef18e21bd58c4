"""Words that LaTeX and programs use in formulas."""

from __future__ import annotations

STYLES = {
    "mathbf", "mathrm", "mathit", "mathsf", "mathcal", "mathbb", "boldsymbol", "bm", "operatorname",
    "text", "textrm", "textit", "textbf", "vec", "underline",
}  # fmt: skip
ACCENTS = {"bar", "hat", "tilde", "overline"}
DOTS = {"dot": 1, "ddot": 2, "dddot": 3}
TRIGONOMETRIC = {"sin", "cos", "tan", "cot", "sec", "csc"}
FUNCTIONS = {
    "exp", "log", "ln", "asin", "acos", "atan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "abs", "Abs",
}  # fmt: skip
FRACTIONS = {"frac", "tfrac", "dfrac", "cfrac"}
TIMES = {"cdot", "times", "ast", "star"}
WRAPPERS = {"underbrace", "overbrace", "boxed", "fbox", "mathop", "cancel", "mathord", "underset", "overset"}
DEEPEST = 40  # brackets within brackets
TRANSPOSED = {"T", "\\top", "\\intercal", "\\mathsf{T}", "\\mathrm{T}", "\\mathsfT", "\\mathrmT"}
