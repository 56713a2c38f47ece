"""Checks of finding, one module a subject."""
