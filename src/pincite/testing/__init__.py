"""Tests that come with Pincite, for those who write a part of their own.

``StoreContract`` holds what every store of an index has to do; see ``docs/scale.md``.
"""

from pincite.testing.stores import StoreContract

__all__ = ["StoreContract"]
