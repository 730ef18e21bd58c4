"""Document 002: a planar arm at a wall, tip forces and Jacobians, integral force control."""

from palpate_documents.claim import Document

DOCUMENT = Document("002")
