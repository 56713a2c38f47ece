"""PDF: characters to lines, columns, paragraphs, headings and tables."""
