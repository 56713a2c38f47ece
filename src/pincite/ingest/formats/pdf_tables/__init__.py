"""Tables on PDF pages: ruled, partly ruled and unruled ones, from words and drawn lines."""

from pincite.ingest.formats.pdf_tables.find import find_tables

__all__ = ["find_tables"]
