"""Document 004: three links of a UR5e, and an admittance controller."""

from palpate_documents.claim import Document

DOCUMENT = Document("004")
