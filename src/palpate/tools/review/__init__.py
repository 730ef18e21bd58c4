"""Checking and mending a given derivation."""

from palpate.tools.review.check import check_derivation, check_file
from palpate.tools.review.verdict import Difference, Verdict

__all__ = ["Difference", "Verdict", "check_derivation", "check_file"]
