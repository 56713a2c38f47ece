"""From a ranking to what a reader sees: passages with their exact place."""
