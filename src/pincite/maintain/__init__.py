"""Audit, copy, export, repair, replay and publish an index."""
