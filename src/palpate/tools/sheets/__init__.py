"""Whole documents: read as they are written, judged formula by formula, marked on the page."""

from typing import TYPE_CHECKING

from palpate.lazy import lazy_names

if TYPE_CHECKING:
    from palpate.tools.sheets.judge import check_document as check_document
    from palpate.tools.sheets.magic import load_ipython_extension as load_ipython_extension
    from palpate.tools.sheets.marking import mark_folder as mark_folder
    from palpate.tools.sheets.result import Finding as Finding, Sheet as Sheet
    from palpate.tools.sheets.source import Source as Source, source_of as source_of

__getattr__, __dir__, __all__ = lazy_names(__name__)
