"""What the arrays of a segment mean: tokens, postings, locators."""
