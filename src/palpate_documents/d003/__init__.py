"""Document 003: a summary of robot dynamics."""

from palpate_documents.claim import Document

DOCUMENT = Document("003")
