"""From clauses to chunks: what is searched, what it is called, what stands around it."""

from __future__ import annotations

from dataclasses import replace

from pincite.model.settings import IngestSettings
from pincite.model.types import Chunk
from pincite.read.chunks import estimated_tokens
from pincite.read.load import parse

CODE = """# Small Code

## Article 10 Doors

### 10.1 Width

Doors shall be wide enough. The following apply:

(A) Front Doors. A front door shall be 900 mm wide.

(1) It may be wider.

(B) Back Doors. A back door shall be 800 mm wide, see Table 10.1.

**Table 10.1 Widths**

| Door | Width (mm) |
|---|---|
| Front | 900 |
| Back | 800 |

### 10.2 Height

Doors shall be 2 m high.
"""


def chunks(text: str, **settings: object) -> list[Chunk]:
    given = replace(IngestSettings(), **settings)  # type: ignore[arg-type]
    return list(parse(text.encode(), "code.md", given).chunks)


def searched(text: str, **settings: object) -> dict[str, Chunk]:
    return {chunk.locator: chunk for chunk in chunks(text, **settings) if chunk.searched}


def test_short_sections_stay_whole_and_tables_stand_alone() -> None:
    found = searched(CODE)
    # 10.1 holds a table, so it is cut at its items; 10.2 is short and stays whole.
    assert list(found) == ["10.1", "10.1(A)", "10.1(B)", "Table 10.1", "10.2"]
    assert found["Table 10.1"].kind == "table"
    assert found["10.1(A)"].text.rstrip().endswith("wider.")  # numbered items stay with a letter


def test_children_carry_the_words_of_their_parents() -> None:
    found = searched(CODE)
    context = found["10.1(A)"].context
    assert "10.1 Width" in context and "Article 10 Doors" in context
    assert "The following apply" in context
    assert "following apply" not in found["10.1(A)"].text
    assert "back door" in found["Table 10.1"].context


def test_a_table_carries_the_words_that_lead_into_it() -> None:
    table = "| Berth | Fee |\n|---|---|\n| {} | 3 |\n\n"
    fees = "# T\n\n## Fees\n\nFees are due at noon.\n\n" + "".join(
        f"{words}\n\n{table.format(words[-9:-4])}"
        for words in (
            "Fees of summer are these:",
            "Nobody pays for less than a day.",
            "What was paid in winter is " + "told " * 80 + "as follows:",
        )
    )
    contexts = [chunk.context for chunk in chunks(fees) if chunk.kind == "table"]
    assert "Fees of summer are these:" in contexts[0]
    assert "Nobody pays" not in contexts[1]
    assert contexts[2].endswith("told as follows:") and "winter" not in contexts[2]
    assert all("due at noon" in context for context in contexts)
    assert contexts[0].count("Fees of summer") == 1


def test_split_depth_cuts_at_every_letter_or_number() -> None:
    plain = "# T\n\n## 1.1 A\nIntro text.\n(a) One.\n(1) Deep.\n(b) Two.\n"
    assert list(searched(plain)) == ["1.1"]
    assert list(searched(plain, split_depth=1)) == ["1.1", "1.1(a)", "1.1(b)"]
    assert list(searched(plain, split_depth=2)) == ["1.1", "1.1(a)", "1.1(a)(1)", "1.1(b)"]


def test_long_text_without_items_is_cut_at_paragraphs() -> None:
    text = "# T\n\n## 2.1 Long\n\n" + "\n\n".join(
        f"Paragraph {i}. " + "word " * 60 for i in range(30)
    )
    found = searched(text, max_chars=1000)
    assert len(found) > 5
    assert all(name.startswith("2.1 part ") for name in found)
    assert all(len(chunk.text) <= 1000 for chunk in found.values())
    assert "".join(chunk.text for chunk in found.values()) == text[text.index("## 2.1") :]


def test_every_clause_is_addressable_whatever_is_searched() -> None:
    for settings in ({}, {"chunking": "fixed"}, {"split_depth": 2}):
        names = {chunk.locator for chunk in chunks(CODE, **settings)}
        assert {"10.1(A)(1)", "10.1(B)", "Table 10.1", "Article 10", "10.2"} <= names


def test_ids_do_not_depend_on_what_stands_before() -> None:
    before = {chunk.locator: chunk.id for chunk in chunks(CODE) if chunk.kind == "clause"}
    longer = CODE.replace("## Article 10 Doors\n", "## Article 10 Doors\n\nNew words here.\n")
    after = {chunk.locator: chunk.id for chunk in chunks(longer) if chunk.kind == "clause"}
    assert before == after


def test_fixed_pieces_stay_on_their_page_and_under_the_limit() -> None:
    page = "A sentence of some words stands here. " * 60
    text = f"{page}\f{page}\fshort page"
    settings = replace(IngestSettings(), chunking="fixed", max_tokens=200)
    loaded = parse(text.encode(), "notes.txt", settings)
    pieces = [chunk for chunk in loaded.chunks if chunk.searched]
    assert {chunk.page for chunk in pieces} == {1, 2, 3}
    assert pieces[0].locator == "p. 1 part 1" and pieces[-1].locator == "p. 3"
    assert all(estimated_tokens(chunk.text) <= 200 for chunk in pieces)
    assert "".join(chunk.text for chunk in pieces) == loaded.document.text


def test_estimate_of_tokens_is_near_known_counts() -> None:
    """Counts of the cl100k vocabulary for these texts; the estimate may be a little above."""
    known = {
        "The quick brown fox jumps over the lazy dog.": 10,
        "Section 314.23(F) requires 12,345 conductors.": 15,
        "Die Würde des Menschen ist unantastbar.": 12,
        "(a) The licensee shall notify the Commission within 30 days; see Table 250.122.": 20,
        "| 10 AWG | 30 A | 5.26 mm² |\n|---|---|---|": 24,
    }
    for text, tokens in known.items():
        assert tokens * 0.8 <= estimated_tokens(text) <= tokens * 1.5, text
