"""The five documents: every equation and number they print, computed, compared and judged."""

from typing import TYPE_CHECKING

from palpate.lazy import lazy_names

if TYPE_CHECKING:
    from palpate_documents.claim import Claim, Comparison, Document
    from palpate_documents.library import DOCUMENTS, document, documents
    from palpate_documents.review import Result, verify

__all__ = ["DOCUMENTS", "Claim", "Comparison", "Document", "Result", "document", "documents", "verify"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        **dict.fromkeys(("Claim", "Comparison", "Document"), "palpate_documents.claim"),
        **dict.fromkeys(("DOCUMENTS", "document", "documents"), "palpate_documents.library"),
        **dict.fromkeys(("Result", "verify"), "palpate_documents.review"),
    },
)
