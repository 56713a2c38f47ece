"""DOCX: what Word shows, with the numbers that it computes."""
