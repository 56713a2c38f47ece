"""Limits to the shape of the code. scripts/house.py counts, and says who is over one of them.

A limit that is not kept yet is marked to fail, strictly: whoever reaches it takes the mark away.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from scripts.house import LIMITS, House, measure

NOT_YET = {"lines"}
CASES = [
    pytest.param(name, marks=pytest.mark.xfail(strict=True) if name in NOT_YET else ())
    for name in LIMITS
]


@pytest.fixture(scope="module")
def house() -> House:
    return measure()


@pytest.mark.parametrize("name", CASES)
def test_the_package_keeps_its_limits(name: str, house: House) -> None:
    offenders = house.offenders().get(name, [])
    assert house.figures()[name] <= LIMITS[name], "\n".join(offenders[:20])


def test_what_is_counted(tmp_path: Path) -> None:
    package = tmp_path / "pincite"
    (package / "room").mkdir(parents=True)
    one = "from pincite.room.b import Thing\n\n\nclass Other:\n    def f(self):\n        pass\n"
    other = "MOST_HITS = 3\n\n\nclass Thing:\n    pass\n\n\nclass Other:\n    pass\n\n\n"
    (package / "a.py").write_text(one)
    (package / "room" / "b.py").write_text(other + "def g():\n    from pincite.a import Other\n")
    house = measure(package)
    assert house.rooms() == {"(root)": {"files": 1, "lines": 6}, "room": {"files": 1, "lines": 13}}
    assert house.functions == {"a.py:5 f": 2, "room/b.py:12 g": 2}
    assert house.offenders()["class names twice"] == ["Other: a.py, room/b.py"]
    assert house.offenders()["MOST_, LEAST_, FEWEST_"] == ["MOST_HITS: room/b.py"]
    assert house.both_ways == [("pincite.a", "pincite.room.b")]
