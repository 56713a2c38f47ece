"""Questions with the places that answer them, whatever the documents are cut into."""
