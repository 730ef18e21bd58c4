"""Whole documents: read as they are written, judged formula by formula, marked on the page."""

from palpate.sheets.judge import check_document
from palpate.sheets.magic import load_ipython_extension
from palpate.sheets.marking import mark_folder
from palpate.sheets.result import Finding, Sheet
from palpate.sheets.source import Source, source_of

__all__ = ["Finding", "Sheet", "Source", "check_document", "load_ipython_extension", "mark_folder", "source_of"]
