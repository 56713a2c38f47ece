"""Pincite beside other engines: the same chunks, the same questions, one run."""
