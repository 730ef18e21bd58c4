"""Document 001: an exam in robotics. Fastest stop, Cartesian inertia, impedance without a force sensor."""

from palpate_documents.claim import in_order
from palpate_documents.d001.about import DOCUMENT

in_order(__name__, "stop", "examples", "inertia", "impedance")

__all__ = ["DOCUMENT"]
