"""The five documents: every equation and number they print, computed, compared and judged."""

from typing import TYPE_CHECKING

from palpate.lazy import lazy_names

if TYPE_CHECKING:
    from palpate.documents.claim import Claim, Comparison, Document
    from palpate.documents.library import DOCUMENTS, document, documents
    from palpate.documents.review import Result, verify

__all__ = ["DOCUMENTS", "Claim", "Comparison", "Document", "Result", "document", "documents", "verify"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        **dict.fromkeys(("Claim", "Comparison", "Document"), "palpate.documents.claim"),
        **dict.fromkeys(("DOCUMENTS", "document", "documents"), "palpate.documents.library"),
        **dict.fromkeys(("Result", "verify"), "palpate.documents.review"),
    },
)
