"""Whole documents: read as they are written, judged formula by formula, marked on the page."""

from palpate.sheets.judge import check_document
from palpate.sheets.result import Finding, Sheet

__all__ = ["Finding", "Sheet", "check_document"]
