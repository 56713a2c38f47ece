"""Steps with tools that lead to an answer."""
