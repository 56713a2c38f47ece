"""One module a format: bytes to canonical text."""
