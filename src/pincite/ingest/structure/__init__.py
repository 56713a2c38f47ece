"""Reading a document's own structure: numbering, headings, clauses, tables and their rows."""
