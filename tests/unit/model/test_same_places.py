"""Places are known again in the next edition, also under another number."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from pincite.model.editions import EditionPlace, places_of, same_places
from pincite.model.settings import Settings
from pincite.read.load import parse

SAMPLES = Path(__file__).parents[3] / "samples"
OLD = (SAMPLES / "electrical-code-2021.md").read_text(encoding="utf-8")
NEW = (SAMPLES / "electrical-code-2024.md").read_text(encoding="utf-8")

BEFORE = """# Code

## 4.1 Boxes
(a) A box shall be large enough for all the conductors that it holds.
(b) A lid shall close without force and stay closed when the box is shaken.
(c) Short.

## 4.2 Lamps
A lamp shall not hang lower than two metres above the floor of a passage.
"""


def places(text: str, name: str = "a.md") -> dict[str, EditionPlace]:
    loaded = parse(text.encode(), name, Settings().ingest)
    return places_of(loaded.document.text, loaded.chunks)


def pairs(old: str, new: str) -> dict[str, str]:
    found = same_places(places(old), places(new, "b.md"))
    return {first.chunk.locator: second.chunk.locator for first, second in found}


def test_the_sample_editions_differ_where_they_were_made_to() -> None:
    old, new = places(OLD), places(NEW)
    found = pairs(OLD, NEW)
    assert (len(old), len(new), len(found)) == (501, 506, 497)
    assert [name for name in old if name not in found] == [
        "240.33", "240.33(A)", "240.33(B)", "240.33(C)"
    ]  # fmt: skip
    assert all(name == other for name, other in found.items())
    assert {name.split("(")[0] for name in new if name not in found.values()} == {
        "210.8", "555.38"
    }  # fmt: skip


def test_a_renumbered_code_is_found_again() -> None:
    """Every section and table of the sample gets another number, and so do references to them."""
    renumbered = shifted(NEW)
    found = pairs(OLD, renumbered)
    missing = [name for name in places(OLD) if name not in found]
    wrong = {name: other for name, other in found.items() if other != shifted(name)}
    assert missing == ["240.33", "240.33(A)", "240.33(B)", "240.33(C)"]
    assert wrong == {}


def shifted(text: str) -> str:
    return re.sub(r"\b([1-9]\d\d)\.(\d+)", lambda m: f"{m[1]}.{int(m[2]) + 2}", text)


def test_a_number_that_was_given_to_other_words_is_not_the_same_place() -> None:
    new = BEFORE.replace("## 4.2", "## 4.3") + "\n## 4.2 Signs\nA sign is white on green.\n"
    found = pairs(BEFORE, new)
    assert found["4.2"] == "4.3"
    assert "4.2" not in found.values()


def test_items_that_made_room_for_a_new_one_are_found_again() -> None:
    new = BEFORE.replace("(c) Short.", "(d) Short.").replace("(b) A lid", "(c) A lid")
    new = new.replace("(c) A lid", "(b) Paint is no lid and never was one at all.\n(c) The lid")
    found = pairs(BEFORE, new)
    assert found["4.1(b)"] == "4.1(c)"
    assert found["4.1(a)"] == "4.1(a)"
    assert "4.1(c)" not in found  # one word is too little to know it by


@given(st.permutations(["4.1", "4.2", "4.3"]))
def test_places_are_paired_once_whatever_their_order(numbers: list[str]) -> None:
    bodies = ["Boxes are closed.", "Lamps hang high.", "Signs are green."]
    one, two = (
        "# C\n\n"
        + "\n\n".join(f"## {n} {b.split()[0]}\n{b}" for n, b in zip(ns, bodies, strict=True))
        for ns in (["4.1", "4.2", "4.3"], numbers)
    )
    found = pairs(one, two)
    assert found == dict(zip(["4.1", "4.2", "4.3"], numbers, strict=True))
    assert pairs(two, one) == {new: old for old, new in found.items()}
