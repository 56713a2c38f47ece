"""MongoDB as the server of an index, and collections for other programs (extra ``mongodb``)."""
