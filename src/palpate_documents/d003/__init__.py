"""Document 003: a summary of robot dynamics."""

from palpate_documents.claim import in_order
from palpate_documents.d003.about import DOCUMENT

in_order(__name__, "kinematics", "inverse", "dynamics", "control")

__all__ = ["DOCUMENT"]
