"""Numbering, outline and clauses of a document."""
