"""Cross references in a text, and which places they mean."""
