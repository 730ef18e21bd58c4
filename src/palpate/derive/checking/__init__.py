"""Checking and mending somebody else's derivation."""

from palpate.derive.checking.check import check_derivation
from palpate.derive.checking.command import check_file, cli_check
from palpate.derive.checking.verdict import Difference, Verdict

__all__ = ["Difference", "Verdict", "check_derivation", "check_file", "cli_check"]
