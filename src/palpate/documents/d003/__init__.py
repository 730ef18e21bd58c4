"""Document 003: a summary of robot dynamics."""

from palpate.documents.claim import in_order
from palpate.documents.d003.about import DOCUMENT

in_order(__name__, "kinematics", "inverse", "dynamics", "control")

__all__ = ["DOCUMENT"]
