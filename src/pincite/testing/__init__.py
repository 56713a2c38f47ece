"""Tests that come with Pincite, for those who write a part of their own.

``StoreContract`` holds what every store of an index has to do, ``FaultContract`` what one in a
server has to do when the server dies or hangs; see ``docs/scale.md``.
"""

from pincite.testing.faults import FaultContract, Faulty
from pincite.testing.stores import StoreContract

__all__ = ["FaultContract", "Faulty", "StoreContract"]
