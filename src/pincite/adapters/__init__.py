"""Pincite as a retriever of other frameworks; each module needs the extra of its name."""
