"""Commands of documents."""
