"""Checks of answers, one module a set of questions."""
