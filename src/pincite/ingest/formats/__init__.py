"""One file for each format: bytes in, a Parsed document out."""
