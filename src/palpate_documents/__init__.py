"""The five documents: every equation and number they print, computed, compared and judged."""

from typing import TYPE_CHECKING

from palpate.lazy import lazy_names

if TYPE_CHECKING:
    from palpate_documents.claim import Claim as Claim, Comparison as Comparison, Document as Document
    from palpate_documents.library import DOCUMENTS as DOCUMENTS, document as document, documents as documents
    from palpate_documents.review import Result as Result, verify as verify

__getattr__, __dir__, __all__ = lazy_names(__name__)
