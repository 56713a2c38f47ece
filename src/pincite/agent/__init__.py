"""Answers that take several steps: tools, a planner without a language model, and one with."""
