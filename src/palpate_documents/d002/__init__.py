"""Document 002: a planar arm at a wall, tip forces and Jacobians, integral force control."""

from palpate_documents.claim import in_order
from palpate_documents.d002.about import DOCUMENT

in_order(__name__, "wall", "forces", "force")

__all__ = ["DOCUMENT"]
