"""Document 000: a pole balanced on the end-effector of an arm."""

from palpate_documents.claim import Document

DOCUMENT = Document("000")
