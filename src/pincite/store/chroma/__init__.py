"""Chroma as the server of an index (extra ``chroma``)."""
