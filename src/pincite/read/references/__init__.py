"""References of a document and where they lead."""
