"""What each place of a document is about."""
