"""Laws of the clause tree: it covers the text exactly, and reads back what was printed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from pincite.model.locators import is_quoted
from pincite.read.extracted import Block, Clause
from pincite.read.formats.markdown import markdown_blocks
from pincite.read.formats.plain import plain_blocks
from pincite.read.structure.clauses import clause_tree
from pincite.read.structure.numbering import readings
from pincite.read.structure.sections import with_sections

Reader = Callable[[str], list[Block]]

LINES = [
    "# Part 9—Boats", "## § 9.1 Oars.", "## § 9.2 Sails", "### 4.2.1 Masts", "Plain Heading", "===",
    "(a) One.", "(b) Two;", "(i) Three", "(ii) four", "(A) Five. More.", "(1) Six:", "(a)(1)(i) x",
    "(h) Short title: (1) In it", "1. Row.", "2. Rest.", "a. Or", "- bullet", "- (a) item",
    "Exception: None.", "Exception No. 2 to (1): Some:", "Note: see.", "NOTE TO § 9.1: see.",
    "**Table 9.1 Sizes**", "| a | b |", "|---|---|", "| 1 | 2 |", "^1^ Only here.",
    "Section 2.3 Quorum. Half of all", "Section 2.3 or with Article 4, if", "ARTICLE II", "DUTIES",
    "Section 2.4. Term. One year. 3. Law. None.", "1.1 It ends.", "2. TERM", "EXHIBIT A", "4.",
    "of the members under paragraph", "(b) of this section do", "> (c) quoted", "```",
    "    (d) deep", "TABLE 1 TO PARAGRAPH (A)—SIZES",
    "", "", "\f", "\u2028", "\x00", "  ", "words that go on and on until the line is full and",
]  # fmt: skip

legal = st.builds(
    lambda lines, newline: newline.join(lines),
    st.lists(st.sampled_from(LINES), max_size=40),
    st.sampled_from(["\n", "\r\n", "\n\n"]),
)
any_text = st.text(max_size=300) | st.text(alphabet="()ai1.#|-> \n\r\f\u2028\x00§T", max_size=200)


def numbered_blocks(text: str) -> list[Block]:
    """Return the blocks of a plain text with the sections that its numbers open."""
    return with_sections(text, plain_blocks(text))


readers = st.sampled_from([markdown_blocks, plain_blocks, numbered_blocks])


def check(text: str, clauses: Sequence[Clause]) -> None:
    assert "".join(text[c.start : c.own_end] for c in clauses) == text
    root = clauses[0]
    assert (root.kind, root.start, root.end, root.parent) == ("document", 0, len(text), -1)
    children: dict[int, list[Clause]] = {}
    for position, clause in enumerate(clauses):
        assert clause.start <= clause.own_end <= clause.end
        assert clause.parent < position
        if position:
            assert clause.parent >= 0
            assert clauses[clause.parent].end >= clause.end
            children.setdefault(clause.parent, []).append(clause)
    for parent, siblings in children.items():
        ends = [clauses[parent].own_end, *(clause.end for clause in siblings)]
        starts = [*(clause.start for clause in siblings), clauses[parent].end]
        assert ends == starts


def check_blocks(text: str, blocks: Sequence[Block]) -> None:
    end = 0
    for block in blocks:
        assert end <= block.start < block.end <= len(text)
        end = block.end


@given(text=any_text | legal, reader=readers)
@settings(max_examples=300, deadline=None)
def test_the_clauses_cover_the_text_exactly(text: str, reader: Reader) -> None:
    blocks = reader(text)
    check_blocks(text, blocks)
    check(text, clause_tree(text, blocks, "Title"))


# A tree of items: each number says how many children an item has.
shapes = st.recursive(
    st.just(()), lambda inner: st.lists(inner, max_size=12).map(tuple), max_leaves=60
)
Shape = tuple["Shape", ...]

ROMAN = ["i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii"]
STYLES: list[Callable[[int], str]] = [
    lambda n: f"({'abcdefghijkl'[n]})",
    lambda n: f"({n + 1})",
    lambda n: f"({ROMAN[n]})",
    lambda n: f"({'ABCDEFGHIJKL'[n]})",
]


def printed(shape: Shape, locator: str, depth: int) -> Iterator[tuple[str, str]]:
    """Yield locator and line of each item, at most four levels deep.

    A lone (i) below (h) could be a letter, even for a human reader: Roman items come in pairs.
    """
    shape = shape * 2 if depth == 2 and len(shape) == 1 else shape
    for position, inner in enumerate(shape):
        label = STYLES[depth](position)
        yield locator + label, f"{label} The rule for this case."
        if depth + 1 < len(STYLES):
            yield from printed(inner, locator + label, depth + 1)


@given(shape=shapes, gap=st.sampled_from(["\n", "\n\n"]), reader=readers)
@settings(max_examples=200, deadline=None)
def test_printed_items_are_read_back(shape: Shape, gap: str, reader: Reader) -> None:
    items = list(printed(shape, "9.1", 0))
    heading = "## § 9.1 Oars." if reader is markdown_blocks else "§ 9.1 Oars."
    text = heading + "\n\n" + gap.join(line for _, line in items) + "\n"
    clauses = clause_tree(text, reader(text), "Boats")
    check(text, clauses)
    assert [clause.locator for clause in clauses[1:]] == ["9.1", *(locator for locator, _ in items)]


@given(legal, readers)
def test_labels_name_one_place_each_and_no_level_comes_twice(text: str, reader: Reader) -> None:
    clauses = clause_tree(text, reader(text), "Title")
    named: set[tuple[int, str]] = set()
    for clause in clauses:
        parent = clauses[clause.parent]
        if clause.kind != "clause" or not clause.label or is_quoted(clause.locator):
            continue
        assert (clause.parent, clause.locator) not in named
        named.add((clause.parent, clause.locator))
        assert not is_quoted(parent.locator)
        if parent.kind == "clause" and parent.label:
            own, above = dict(readings(clause.label)), dict(readings(parent.label))
            assert not (len(own) == len(above) == 1 and own.keys() == above.keys())
