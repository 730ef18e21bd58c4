"""Checking and mending somebody else's derivation."""

from palpate.review.check import check_derivation, check_file
from palpate.review.verdict import Difference, Verdict

__all__ = ["Difference", "Verdict", "check_derivation", "check_file"]
