"""Document 004: three links of a UR5e, and an admittance controller."""

from palpate_documents.claim import in_order
from palpate_documents.d004.about import DOCUMENT

in_order(__name__, "model", "dynamics", "admittance", "implementation")

__all__ = ["DOCUMENT"]
