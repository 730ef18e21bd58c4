"""Document 000: a pole balanced on the end-effector of an arm."""

from palpate.documents.claim import in_order
from palpate.documents.d000.about import DOCUMENT

in_order(__name__, "pole", "system")

__all__ = ["DOCUMENT"]
