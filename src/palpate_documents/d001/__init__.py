"""Document 001: an exam in robotics. Fastest stop, Cartesian inertia, impedance without a force sensor."""

from palpate_documents.claim import Document

DOCUMENT = Document("001")
