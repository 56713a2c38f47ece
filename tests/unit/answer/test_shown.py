"""What people read of hits and answers: whole sentences, lists with their lead-in, no signs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pincite.api import Index

RULES = """# *Pump* rules

## 1 Care

A *deficiency* is a `fault` that [anybody](a.md) sees. It goes to the **harbour master**.

## 2 Tools

The following tools are kept beside every pump:

* a *spanner* of 24 mm;
* a torch with spare batteries.

## 3 Example

To rinse the pump, run:

```
rinse --pump=all
```

## 4 Long

{filler} The *needle valve* of the pump is opened slowly, by hand. {filler}
"""


@pytest.fixture
def index(make_index: Callable[..., Index]) -> Index:
    filler = " ".join(f"Sentence {n} says nothing of interest to anybody." for n in range(20))
    return make_index({"rules.md": RULES.replace("{filler}", filler)})


def test_no_signs_of_markdown_reach_a_hit(index: Index) -> None:
    for query in ("deficiency fault", "spanner", "rinse", "needle valve", "harbour master"):
        for passage in index.search(query).passages:
            assert not set("*`[") & set(passage.snippet + passage.citation + passage.document)
            for start, end in passage.marks:
                assert passage.snippet[start:end].strip() == passage.snippet[start:end] != ""
    first = index.search("deficiency")[0]
    assert first.citation == "Pump rules, 1"
    assert [first.snippet[start:end] for start, end in first.marks] == ["deficiency"]


def test_a_snippet_of_a_long_place_is_whole_sentences(index: Index) -> None:
    snippet = index.search("needle valve")[0].snippet
    assert "The needle valve of the pump is opened slowly" in snippet
    assert snippet.startswith(("Sentence", "The needle")) and snippet.endswith(".")


def test_an_item_is_quoted_with_its_lead_in_and_a_lead_in_with_its_items(index: Index) -> None:
    told = index.ask("Which spanner is kept?").text
    assert "The following tools are kept beside every pump:" in told
    assert "a spanner of 24 mm" in told and "*" not in told
    told = index.ask("Which tools are kept beside every pump?").text
    assert "torch" in told


def test_code_is_quoted_without_its_fence(index: Index) -> None:
    told = index.ask("How do I rinse the pump?").text
    assert "rinse --pump=all" in told and "```" not in told
