"""Document 000: a pole balanced on the end-effector of an arm."""

from palpate_documents.claim import in_order
from palpate_documents.d000.about import DOCUMENT

in_order(__name__, "pole", "system")

__all__ = ["DOCUMENT"]
