"""Tables of PDF pages."""
