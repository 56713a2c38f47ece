"""The clause tree: nesting, locators, titles and spans."""

from __future__ import annotations

from pincite.read.extracted import Block, Clause
from pincite.read.formats.markdown import markdown_blocks
from pincite.read.formats.plain import plain_blocks
from pincite.read.structure.clauses import clause_tree

GRID = "| a | b |\n|---|---|\n| 1 | 2 |\n"


def tree(text: str) -> list[Clause]:
    clauses = clause_tree(text, markdown_blocks(text), "Book")
    assert "".join(text[c.start : c.own_end] for c in clauses) == text
    return clauses


def locators(text: str) -> list[str]:
    return [clause.locator for clause in tree(text)[1:]]


def find(clauses: list[Clause], locator: str) -> Clause:
    (found,) = [clause for clause in clauses if clause.locator == locator]
    return found


def test_a_text_without_headings_is_one_document() -> None:
    (root,) = tree("Only words.\n")
    assert (root.kind, root.title, root.start, root.end, root.parent) == (
        "document",
        "Book",
        0,
        12,
        -1,
    )


def test_items_nest_below_their_section() -> None:
    text = (
        "## § 5.2 Fees.\n\nAll pay.\n\n(a) Members pay:\n(1) ten in May; and\n(2) ten in June.\n\n"
        "They may pay at once.\n\n(b) Guests pay one.\n"
    )
    clauses = tree(text)
    assert [c.locator for c in clauses] == ["", "5.2", "5.2(a)", "5.2(a)(1)", "5.2(a)(2)", "5.2(b)"]
    item = find(clauses, "5.2(a)(2)")
    assert text[item.start : item.end] == "(2) ten in June.\n\nThey may pay at once.\n\n"
    assert item.path == ("§ 5.2 Fees",)
    parent = find(clauses, "5.2(a)")
    assert text[parent.start : parent.own_end] == "(a) Members pay:\n"
    assert parent.end == item.end


def test_the_first_heading_is_the_title_of_the_document() -> None:
    clauses = tree("# The Book\n\nWelcome.\n\n## One\n\nWords.\n\n## Two\n")
    assert [(c.locator, c.path, c.parent) for c in clauses] == [
        ("", (), -1),
        ("One", ("One",), 0),
        ("Two", ("Two",), 0),
    ]


def test_a_numbered_title_is_its_own_section_and_nests_nothing() -> None:
    clauses = tree("# Part 12—Houses\n\n## § 12.1 Doors.\n\nWords.\n")
    assert [(c.locator, c.parent) for c in clauses] == [("", -1), ("Part 12", 0), ("12.1", 0)]
    assert clauses[2].path == ("§ 12.1 Doors",)


def test_decimals_nest_whatever_their_level() -> None:
    clauses = tree(
        "# T\n\n## 4 Care\n\n## 4.2 Sensors\n\n## 4.2.1 Air\n\n## 4.3 Fuse\n\n## 5 End\n"
    )
    parents = [clauses[c.parent].locator for c in clauses[1:]]
    assert parents == ["", "4", "4.2", "4", ""]
    assert find(clauses, "4.2.1").path == ("4 Care", "4.2 Sensors", "4.2.1 Air")


def test_a_number_without_neighbours_is_a_word() -> None:
    assert locators("# T\n\n## 7 Ways to Pack\n\n## Tents\n") == ["7 Ways to Pack", "Tents"]


def test_plain_headings_are_named_by_the_shortest_unique_path() -> None:
    text = "# T\n\n## Owl\n\n### Traits\n\n## Bat\n\n### Traits\n\n### Diet\n"
    assert locators(text) == ["Owl", "Owl > Traits", "Bat", "Bat > Traits", "Diet"]


def test_items_below_a_plain_heading_take_its_words() -> None:
    assert locators("# T\n\n## House Rules\n\n(a) One.\n(b) Two.\n") == [
        "House Rules",
        "House Rules(a)",
        "House Rules(b)",
    ]


def test_items_may_be_headings() -> None:
    text = "# T\n\n## 314.23 Boxes\n\n### (A) Surface\n\n(1) One.\n(2) Two.\n\n### (B) Walls\n"
    assert locators(text) == ["314.23", "314.23(A)", "314.23(A)(1)", "314.23(A)(2)", "314.23(B)"]


def test_steps_are_clauses_below_a_numbered_section_only() -> None:
    steps = "1. Dig.\n2. Sow.\n   - deep\n"
    assert locators(f"# T\n\n## 2.3 Garden\n\n{steps}") == ["2.3", "2.3(1)", "2.3(2)"]
    assert locators(f"# T\n\n## Garden\n\n{steps}") == ["Garden"]


def test_a_run_in_label_opens_a_child_in_mid_line() -> None:
    text = "## § 5.3 Bands.\n(a) Short waves: (1) In the first band.\n(2) In the second.\n"
    clauses = tree(text)
    assert [c.locator for c in clauses[1:]] == ["5.3", "5.3(a)", "5.3(a)(1)", "5.3(a)(2)"]
    assert clauses[2].title == "Short waves"
    assert text[clauses[3].start : clauses[3].end] == "(1) In the first band.\n"


def test_a_repeated_label_belongs_to_the_item_behind_it() -> None:
    text = "## § 5.4 Rows.\n(a)(1) One.\n(a)(2) Two.\n"
    clauses = tree(text)
    assert [c.locator for c in clauses[1:]] == ["5.4", "5.4(a)", "5.4(a)(1)", "5.4(a)(2)"]
    assert text[clauses[4].start :] == "(a)(2) Two.\n"


def test_titles_are_short_phrases_before_the_text() -> None:
    text = (
        "## § 5.5 Terms.\n(1) Night lamp. A lamp for the night.\n(2) A lamp is bright. It burns.\n"
        "(3) Wick.\n(4) **Oil.** What burns.\n(5) lamp oil. Also burns.\n"
    )
    assert [c.title for c in tree(text)[2:]] == ["Night lamp", "", "", "Oil", ""]


def test_exceptions_belong_to_the_deepest_open_clause() -> None:
    text = (
        "### 5.6 Doors\n\n(A) Width. At least one metre.\n\n(1) Inside\n\n(2) Outside\n\n"
        "Exception No. 1: Old houses.\n\nException No. 2: Barns.\n\n(B) Height. Two metres.\n\n"
        "Exception: Cellars.\n"
    )
    assert locators(text) == [
        "5.6", "5.6(A)", "5.6(A)(1)", "5.6(A)(2)", "5.6(A)(2) Exception No. 1",
        "5.6(A)(2) Exception No. 2", "5.6(B)", "5.6(B) Exception",
    ]  # fmt: skip


def test_an_exception_may_name_the_item_it_is_for() -> None:
    text = (
        "### 5.6 Doors\n\n(A) Width:\n\n(1) Inside\n\n(2) Outside\n\n"
        "Exception No. 1 to (1): Old houses.\n\nException No. 2 to (2): Barns.\n\n(B) Height.\n"
    )
    assert locators(text)[4:] == [
        "5.6(A)(1) Exception No. 1",
        "5.6(A)(2) Exception No. 2",
        "5.6(B)",
    ]


def test_a_list_that_an_exception_announces_is_its_own() -> None:
    text = (
        "### 5.7 Locks\n\n(A) All doors.\n\nException: These need none:\n\n(1) Barns\n\n(2) Sheds\n"
    )
    assert locators(text)[2:] == ["5.7(A) Exception", "5.7(A) Exception(1)", "5.7(A) Exception(2)"]
    text = "### 5.7 Locks\n\n(A) All doors:\n\nException: Barns.\n\n(1) Steel\n\n(2) Wood\n"
    assert locators(text)[2:] == ["5.7(A) Exception", "5.7(A)(1)", "5.7(A)(2)"]


def test_notes_belong_to_what_they_follow_or_name() -> None:
    text = (
        "## § 5.8 Keys.\n(a) One each.\n(1) Brass.\nNote: Or steel.\n"
        "(b) None.\nNOTE TO § 5.8: See § 9.\n"
    )
    clauses = tree(text)
    assert [c.locator for c in clauses[3:]] == ["5.8(a)(1)", "5.8(a)(1) Note", "5.8(b)", "5.8 Note"]
    assert clauses[-1].label == "NOTE TO § 5.8"


def test_a_note_to_the_section_does_not_tear_a_clause_apart() -> None:
    text = "## § 5.8 Keys.\n(a) One each:\n(1) Brass.\nNOTE TO § 5.8: See § 9.\n(2) Steel.\n"
    assert locators(text)[1:] == ["5.8(a)", "5.8(a)(1)", "5.8(a) Note", "5.8(a)(2)"]


def test_tables_are_named_by_number_or_by_the_clause_around() -> None:
    text = (
        f"## § 5.9 Sizes.\n(a) Wire.\n\n**Table 5.9 Wire**\n\n{GRID}\n(b) Rope.\n\n{GRID}\n"
        f"(c) Yarn.\n\nTABLE 1 TO PARAGRAPH (C)—YARN\n\n{GRID}"
    )
    clauses = [c for c in tree(text) if c.kind == "table"]
    assert [c.locator for c in clauses] == ["Table 5.9", "5.9(b) Table", "5.9(c) Table 1"]
    assert clauses[0].title == "Wire"


def test_two_tables_below_one_clause_are_counted() -> None:
    text = f"## § 5.9 Sizes.\n\n{GRID}\nBetween.\n\n{GRID}"
    assert locators(text) == ["5.9", "5.9 Table", "5.9", "5.9 Table 2"]


def test_words_after_a_table_are_a_piece_of_the_clause_around() -> None:
    text = f"## § 5.9 Sizes.\n\nBefore.\n\n{GRID}\n1 Only indoors.\n\nAfter.\n\nMore.\n"
    clauses = tree(text)
    assert [c.kind for c in clauses] == ["document", "section", "table", "text"]
    piece = clauses[3]
    assert (piece.locator, piece.parent) == ("5.9", 1)
    assert text[piece.start : piece.end] == "After.\n\nMore.\n"
    assert text[clauses[2].start : clauses[2].end].endswith("indoors.\n\n")


def test_a_heading_that_is_a_caption_opens_no_section() -> None:
    text = f"# T\n\n## 6 Data\n\n## 6.1 Sizes\n\n### Table 6 Wire\n\n{GRID}\n## 6.2 End\n"
    assert locators(text) == ["6", "6.1", "Table 6", "6.2"]


def test_code_holds_no_items() -> None:
    assert locators("## § 5.1 Code.\n\n```\n(a) one\n(b) two\n```\n") == ["5.1"]


def test_plain_text_gives_the_same_tree() -> None:
    text = "BYLAWS\n\nArticle 1. Name\n\nSection 1.1 Club. We are:\n\n(a) one; and\n\n(b) all.\n"
    clauses = clause_tree(text, plain_blocks(text), "Bylaws")
    assert [c.locator for c in clauses] == ["", "Article 1", "1.1", "1.1(a)", "1.1(b)"]
    assert clauses[3].path == ("Article 1. Name", "Section 1.1 Club")


def test_defined_terms_are_clauses_and_their_items_count_anew() -> None:
    text = (
        "## 4.1 Definitions\n\n(a) In this part:\n\n"
        "*Berth* means\n\n(1) a quay; or\n\n(2) a buoy.\n\n"
        "*Tide*, as used here, means\n\n(1) high water; or\n\n(2) low water.\n\n(b) Other words.\n"
    )
    assert locators(text) == [
        "4.1",
        "4.1(a)",
        "4.1(a) > Berth",
        "4.1(a) > Berth(1)",
        "4.1(a) > Berth(2)",
        "4.1(a) > Tide",
        "4.1(a) > Tide(1)",
        "4.1(a) > Tide(2)",
        "4.1(b)",
    ]
    assert find(tree(text), "4.1(a) > Tide").title == "Tide"


def test_a_quotation_that_means_something_is_no_definition() -> None:
    assert locators('## 4.1 Notation\n\n"Half" on a save means less.\n\n**Range:** 60 feet.\n') == [
        "4.1"
    ]


def test_a_number_that_begins_anew_takes_the_name_of_the_part_it_is_in() -> None:
    text = (
        "## 1.1 Fees\n\n## Schedule 1\n\n### 1.1 Sizes\n\n(a) One.\n\n"
        "## Schedule 2\n\n### 1.1 Again\n"
    )
    assert locators(text) == [
        "1.1",
        "Schedule 1",
        "Schedule 1 > 1.1",
        "Schedule 1 > 1.1(a)",
        "Schedule 2",
        "Schedule 2 > 1.1",
    ]


def test_items_whose_place_the_reader_knows_are_taken_as_they_are() -> None:
    text = "# 7. Fees\n\n(c) Late.\n\n(i) Not roman.\n\n(a) below\n\n**pier** means\n"
    starts = [text.index(words) for words in ("(c)", "(i)", "(a)", "**pier")]
    known = [(0, "(c)"), (0, "(i)"), (1, "(a)"), (2, "“pier”")]
    blocks = [
        Block("heading", 0, 7, 1),
        *(
            Block("item", start, text.index("\n", start), level, label)
            for start, (level, label) in zip(starts, known, strict=True)
        ),
    ]
    clauses = clause_tree(text, blocks, "Book")
    assert [c.locator for c in clauses][1:] == ["7", "7(c)", "7(i)", "7(i)(a)", "7(i)(a) > pier"]
    assert "".join(text[c.start : c.own_end] for c in clauses) == text


def test_alternates_of_a_clause_have_locators_of_their_own() -> None:
    text = (
        "## 52.2-6 Sales\n\n(a) One.\n\n(b) Two.\n\n(c) Three, as in Alternate II.\n\n(End)\n\n"
        "*Alternate I* (Nov 2021). Substitute the following paragraph for paragraph (b):\n\n"
        "(b) Other:\n\n(1) first; and\n\n(2) second.\n\n"
        "*Alternate II* ( Feb 2009). Substitute paragraphs (a) and (c) and add (d)(2):\n\n"
        "(a) Again.\n\n(c) Once more.\n\n*Alternate III* [Reserved]\n\n"
        "## 52.2-7 More\n\n*Alternate I* (Feb 2009). Add the following paragraph (d)(2):\n\n"
        "(d)(2) Late.\n"
    )
    assert locators(text) == [
        "52.2-6",
        *(f"52.2-6({label})" for label in "abc"),
        "52.2-6 Alternate I",
        "52.2-6 Alternate I(b)",
        "52.2-6 Alternate I(b)(1)",
        "52.2-6 Alternate I(b)(2)",
        "52.2-6 Alternate II",
        "52.2-6 Alternate II(a)",
        "52.2-6 Alternate II(c)",
        "52.2-6 Alternate III",
        "52.2-7",
        "52.2-7 Alternate I",
        "52.2-7 Alternate I(d)",
        "52.2-7 Alternate I(d)(2)",
    ]
    clauses = tree(text)
    parent = clauses[find(clauses, "52.2-6 Alternate II").parent]
    assert parent.locator == "52.2-6"


def test_a_chain_that_repeats_a_level_is_cited_by_its_first_words() -> None:
    text = "## 4.1 Tests\n\n1. One.\n2. Two:\n\n1. Inner words that begin it here.\n2. Other.\n"
    blocks = [Block("heading", 0, 12, 2), Block("paragraph", 14, len(text) - 1)]
    found = [clause.locator for clause in clause_tree(text, blocks, "T")][2:]
    assert found == [
        "4.1(1)",
        "4.1(2)",
        "4.1 > “1. Inner words that begin it …”",
        "4.1 > “2. Other.”",
    ]


def test_a_list_that_goes_back_is_cited_by_its_first_words() -> None:
    text = "## 3 Fees\n\n(a) One.\n\n(b) Two.\n\n(a) One again.\n\n(c) Three.\n"
    found = [clause.locator for clause in clause_tree(text, markdown_blocks(text), "T")]
    assert found[-2:] == ["3 Fees > “(a) One again.”", "3 Fees(c)"]


def test_a_number_that_two_sections_have_names_the_first() -> None:
    text = "## § 3 Fees\n\n(a) One.\n\n## § 3 Term\n\n(a) Two.\n"
    found = [clause.locator for clause in clause_tree(text, markdown_blocks(text), "T")][1:]
    assert found == ["3", "3(a)", "“§ 3 Term”", "“(a) Two.”"]


def test_a_file_of_one_chapter_holds_its_sections() -> None:
    text = "# 6. Packaging\n\n## 6.1. Rules\n\nWords.\n\n### Notes\n\n## 6.2. Notes\n\nWords.\n"
    tree = clause_tree(text, markdown_blocks(text), "")
    assert [(c.locator, tree[c.parent].locator) for c in tree[1:]] == [
        ("6", ""),
        ("6.1", "6"),
        ("Notes", "6.1"),
        ("6.2", "6"),
    ]


def test_a_section_belongs_to_its_chapter_though_both_are_set_alike() -> None:
    text = "# Code\n\n## Chapter 4 Fees\n\n## 4.1 Late\n\n## Chapter Five Fines\n\n## 5.1 No\n"
    tree = clause_tree(text, markdown_blocks(text), "")
    assert [tree[c.parent].label for c in tree[1:]] == ["", "Chapter 4", "", "Chapter Five"]
