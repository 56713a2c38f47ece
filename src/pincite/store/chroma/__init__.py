"""Chroma as the server of an index (asked over HTTP: no extra)."""
