"""Experiments on public data sets, asked with the pipelines of a search."""
