"""PDF files: text in reading order with headings, tables, pages and boxes."""

from pincite.ingest.formats.pdf.reader import read

__all__ = ["read"]
