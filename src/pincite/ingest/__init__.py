"""From a file to a Document and its clause tree, and from there to chunks."""
