"""Enrichment: kinds, fields, traits, terms, other names and the links between clauses."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.model.settings import IngestSettings
from pincite.model.types import Chunk, Document, Enrichment, Link
from pincite.read.chunks import chunks_of
from pincite.read.enrich.enrich import enrich, entity_names
from pincite.read.enrich.matching import (
    Lexicon,
    PatternMatch,
    long_form,
    plain_term,
    read_fields,
    split_term,
    view_of,
)
from pincite.read.enrich.profile import (
    Profile,
    choose_profile,
    load_profile,
    load_profiles,
    parse_profile,
)
from pincite.read.formats.markdown import read
from pincite.read.structure.clauses import clause_tree

ROOT = Path(__file__).parents[3]
DATA = Path(os.environ.get("PINCITE_DATA", ROOT.parent / "shared/data"))
needs_data = pytest.mark.skipif(not (DATA / "srd-5.2").exists(), reason="no shared data")


class Enriched:
    """A document with what was found in it."""

    def __init__(
        self, text: str, profile: Profile | str, settings: IngestSettings | None = None
    ) -> None:
        parsed = read(text.encode(), "d.md")
        self.document = Document("d.md", parsed.text, parsed.title)
        clauses = clause_tree(parsed.text, parsed.blocks, parsed.title)
        shape = settings or IngestSettings()
        self.chunks: list[Chunk] = chunks_of(self.document, clauses, parsed.pages, shape)
        self.profile = load_profile(profile) if isinstance(profile, str) else profile
        self.facts, self.links = enrich(self.document, self.chunks, self.profile)

    def at(self, locator: str) -> Enrichment:
        whole = [chunk for chunk in self.chunks if chunk.kind != "piece"]
        return next(self.facts[chunk.id] for chunk in whole if chunk.locator == locator)

    def pairs(self, relation: str) -> list[tuple[str, str]]:
        places = {chunk.id: chunk.locator for chunk in self.chunks}
        found = [link for link in self.links if link.relation == relation]
        return [(places[link.source], link.target) for link in found]

    def evidence(self, relation: str) -> list[str]:
        spans = [link.span for link in self.links if link.relation == relation]
        return [self.document.text[span.start : span.end] for span in spans]

    @property
    def names(self) -> dict[str, tuple[str, ...]]:
        return entity_names(self.document, self.facts, self.links)


GAME = """# Dust and Dice

## Playing

A **check** is a roll of 2d6. Your **Guard Value (GV)** is what an enemy must reach.

## Conditions

### Sleepy

You cannot take reactions.

## Spells

### Spark of Doubt

**Traits** Mind, Loud  
**Level** 3  
**Casting** One action  
**Range** 30 feet

The target takes 2d6 damage and is Sleepy.

### Warm Stone

*2nd-level evocation*

**Casting Time:** 1 minute

**Range:** Touch

You regain nothing.

| Size | Heat |
|---|---|
| Small | 3 |

### Hush

*Illusion Cantrip (Bard)*

**Casting Time:** Action **Range:** Self **Duration:** 1 round

Your GV is 2 higher.

## Feats

### Quick Draw

**Level** 4  
**Requirements** Nimble

You gain a reaction for each ally.

## For the Game Master

### Dust Rat

*Small beast, unaligned*

**Armor Class** 12

**Hit Points** 4 (1d8)

#### Actions

It bites.

### Bell of Rest

*Wondrous item, rare (requires attunement)*

It rings once a day.

### History

The town is old.
"""


@pytest.fixture(scope="module")
def game() -> Enriched:
    return Enriched(GAME, "rulebook")


@pytest.mark.parametrize(
    ("locator", "kind"),
    [
        ("Playing", "rule"),
        ("Sleepy", "condition"),
        ("Spark of Doubt", "spell"),
        ("Warm Stone", "spell"),
        ("Warm Stone Table", "table"),
        ("Hush", "spell"),
        ("Quick Draw", "feat"),
        ("Dust Rat", "creature"),
        ("Actions", "creature"),
        ("Bell of Rest", "item"),
        ("History", "narrative"),
    ],
)
def test_kinds_of_a_rulebook(game: Enriched, locator: str, kind: str) -> None:
    assert game.at(locator).content_kind == kind


def test_entities_are_described_once_and_named(game: Enriched) -> None:
    assert game.names == {
        "condition": ("Sleepy",),
        "creature": ("Dust Rat",),
        "feat": ("Quick Draw",),
        "item": ("Bell of Rest",),
        "spell": ("Hush", "Spark of Doubt", "Warm Stone"),
    }
    assert game.evidence("describes")[1] == "Spark of Doubt"


def test_fields_become_tags_and_traits(game: Enriched) -> None:
    assert "level:3" in game.at("Spark of Doubt").tags
    assert {"level:2", "school:evocation"} <= set(game.at("Warm Stone").tags)
    assert {"level:0", "school:illusion"} <= set(game.at("Hush").tags)
    assert "rarity:rare" in game.at("Bell of Rest").tags
    assert game.at("Spark of Doubt").traits == ("Mind", "Loud")
    assert game.at("Dust Rat").traits == ("small", "beast", "unaligned")
    assert ("Spark of Doubt", "loud") in game.pairs("has_trait")


def test_fields_can_be_read_one_by_one(game: Enriched) -> None:
    chunk = next(chunk for chunk in game.chunks if chunk.locator == "Hush")
    fields = read_fields(view_of(game.document, chunk, None), game.profile)
    wanted = {"level": "0", "casting_time": "Action", "range": "Self", "duration": "1 round"}
    assert {name: fields[name].value.strip() for name in wanted} == wanted
    place = fields["range"]
    assert game.document.text[place.start : place.end].strip() == "Self"


def test_terms_aliases_and_their_uses(game: Enriched) -> None:
    assert game.at("Playing").terms == ("Guard Value", "check")
    assert game.at("Playing").aliases == ("GV",)
    assert ("Playing", "guard value") in game.pairs("alias_of")
    assert game.evidence("alias_of") == ["GV"]
    uses = game.pairs("uses")
    assert ("Spark of Doubt", "sleepy") in uses
    assert ("Hush", "guard value") in uses
    assert not any(target == "sleepy" and place == "Sleepy" for place, target in uses)


def test_levels_grants_and_audiences(game: Enriched) -> None:
    assert game.pairs("requires_level") == [("Quick Draw", "level 4")]
    assert ("Quick Draw", "reaction") in game.pairs("grants")
    assert "for:gm" in game.at("Actions").tags
    assert "for:player" in game.at("Hush").tags


CODE = """# Harbour Code

# Chapter 1 General

## Article 5 Definitions

### 5.1 Use

(A) Plain Words. Other words have their plain meaning.

### 5.2 Definitions

**Berth.** A place for one vessel.

**Residual-current device (RCD).** A device that opens a circuit.

**Cable, shore.** A cable to a vessel.

## Article 9 Berths

### 9.1 Supply

Each berth shall have a residual-current device and a
shore cable.

(A) Height. An RCD shall not be lower than 1 m.

Exception: Berths without supply need none.

### 9.2 History

The first quay was built of oak.
"""


@pytest.fixture(scope="module")
def code() -> Enriched:
    return Enriched(CODE, "code")


def test_kinds_and_rules_of_a_code(code: Enriched) -> None:
    assert code.at("5.2").content_kind == "definition"
    assert code.at("9.1").content_kind == "rule"
    assert code.at("9.1(A) Exception").content_kind == "exception"
    assert code.at("9.2").content_kind == "narrative"
    assert code.at("9.1").is_rule_bearing and code.at("9.1(A)").is_rule_bearing
    assert not code.at("9.2").is_rule_bearing and not code.at("Article 9").is_rule_bearing
    assert "prohibition" in code.at("9.1(A)").tags


def test_a_section_bears_the_rules_of_its_items() -> None:
    found = Enriched("# T\n\n## § 1.1 Fees.\n\n(a) None.\n(b) All shall pay.\n", "code")
    assert found.at("1.1").is_rule_bearing and found.at("1.1").content_kind == "rule"
    assert not found.at("1.1(a)").is_rule_bearing


def test_terms_of_a_code(code: Enriched) -> None:
    assert code.at("5.2").terms == ("Berth", "Residual-current device", "Cable, shore")
    assert code.at("5.2").aliases == ("RCD", "shore cable")
    assert code.at("5.1").terms == ()
    assert code.pairs("uses") == [
        ("Article 9", "berth"),
        ("9.1", "berth"),
        ("9.1", "residual-current device"),
        ("9.1", "cable, shore"),
        ("9.1(A)", "residual-current device"),
        ("9.1(A) Exception", "berth"),
    ]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("## 3 Words\n\nDwelling unit means a home.\n", ["dwelling unit"]),
        ("## 3 Words\n\nThe term “owner” has the same meaning as in 4.\n", ["owner"]),
        ("## § 1.3 Definitions.\n(1) Live part. A part under voltage.\n", ["live part"]),
        ('## 3 Parties\n\nAcme Ltd (the "Contractor") builds.\n', ["contractor"]),
        ("## 3 Words\n\n**Note.** Nothing is defined here.\n", []),
    ],
)
def test_how_codes_define(text: str, terms: list[str]) -> None:
    assert [target for _, target in Enriched(text, "code").pairs("defines")] == terms


def test_a_manual_has_procedures_and_warnings() -> None:
    found = Enriched(
        "# Pump Manual\n\n## 1 Mounting\n\n1. Turn the key.\n2. Wait.\n\n## 2 Heat\n\n"
        "WARNING: The pump is hot.\n\n## 3 Troubleshooting\n\nIt hums.\n",
        "manual",
    )
    assert found.at("1").content_kind == "procedure"
    assert found.at("2").content_kind == "warning"
    assert "warning" in found.at("2").tags and found.at("2").is_rule_bearing
    assert found.at("3").content_kind == "troubleshooting"


def test_common_words_are_no_links() -> None:
    sections = "".join(f"## Part{i}\n\nA load and a rated load.\n\n" for i in range(40))
    text = f"# T\n\n## Definitions\n\n**Load.** A.\n\n**Rated load.** B.\n\n{sections}"
    targets = {target for _, target in Enriched(text, "code").pairs("uses")}
    assert targets == {"rated load"}


@pytest.mark.parametrize(
    ("short", "words", "form"),
    [
        ("AR", "add your Armour Rating", "Armour Rating"),
        ("ST", "the Stamina", "Stamina"),
        ("COTS", "commercially available off-the-shelf", "commercially available off-the-shelf"),
        ("RF", "in respect of dielectric", ""),
        ("AR", "the Armour Rating AR", ""),
        ("XQ", "quite other words", ""),
        ("A", "Armour", ""),
        ("AB", "", ""),
    ],
)
def test_long_forms(short: str, words: str, form: str) -> None:
    assert long_form(short, words) == form


def test_names_inside_terms() -> None:
    term, aliases = split_term(PatternMatch("XP (experience points)", 0, 22), inverted=False)
    assert (term, [alias.name for alias in aliases]) == ("experience points", ["XP"])
    term, aliases = split_term(PatternMatch("Experience Points (XP)", 5, 27), inverted=False)
    assert (term, aliases[0].name, aliases[0].start, aliases[0].end) == (
        "Experience Points",
        "XP",
        24,
        26,
    )
    assert plain_term("(reserved)") == plain_term("") == plain_term("one " * 9) == ""


def test_the_longest_name_wins_and_capitals_count() -> None:
    names = {"load": "load", "rated load": "rated load", "IT": "it network"}
    lexicon = Lexicon(names, endings=("es", "s", "e"))
    text = "Rated loads, the load: it and IT."
    found = [use.value for use in lexicon.find(text, 0, len(text))]
    assert found == ["rated load", "load", "it network"]


def laws(found: Enriched) -> None:
    assert set(found.facts) == {chunk.id for chunk in found.chunks}
    spans = {chunk.id: chunk for chunk in found.chunks}
    for link in found.links:
        chunk = spans[link.source]
        assert chunk.kind != "piece"
        assert chunk.span.start <= link.span.start <= link.span.end <= chunk.own_end
        assert link.target == link.target.casefold() and link.target
    keys = [(link.source, link.relation, link.target, link.span) for link in found.links]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("profile", ["code", "manual", "report", "rulebook"])
@pytest.mark.parametrize("chunking", ["clause", "fixed"])
@pytest.mark.parametrize("text", [GAME, CODE])
def test_every_chunk_has_facts_and_links_have_evidence(
    profile: str, chunking: str, text: str
) -> None:
    settings = IngestSettings(chunking=chunking, max_chars=200, max_tokens=40)  # type: ignore[arg-type]
    laws(Enriched(text, profile, settings))


@given(
    st.lists(st.sampled_from([*GAME.split("\n\n"), *CODE.split("\n\n"), "(a) x", "|"]), max_size=9)
)
def test_laws_hold_for_any_order_of_words(blocks: list[str]) -> None:
    laws(Enriched("\n\n".join(blocks) or "x", "rulebook"))


def test_pieces_of_a_long_entry_are_of_its_kind() -> None:
    body = "You must wait. " * 40
    text = f"# T\n\n## Long\n\n**Casting** Now\n\n**Range** Far\n\n{body}\n\n{body}\n"
    found = Enriched(text, "rulebook", IngestSettings(max_chars=300))
    pieces = [chunk for chunk in found.chunks if chunk.kind == "piece"]
    assert len(pieces) > 2
    assert {found.facts[chunk.id].content_kind for chunk in pieces} == {"spell"}
    assert found.names == {"spell": ("Long",)}


def test_time_is_linear_in_terms_and_text() -> None:
    def seconds(count: int) -> float:
        terms = "".join(f"**Rated load {i}.** A load.\n\n" for i in range(count))
        uses = "".join(f"## S{i}\n\nThe rated load {i} shall be small.\n\n" for i in range(count))
        begin = time.process_time()
        found = Enriched(f"# T\n\n## Definitions\n\n{terms}{uses}", "code")
        took = time.process_time() - begin
        assert len(found.pairs("defines")) == count == len(found.pairs("uses"))
        return took

    seconds(100)
    assert seconds(2000) < 20 * max(0.2, seconds(500))


def test_the_example_of_the_documentation_runs(tmp_path: Path) -> None:
    page = (ROOT / "docs/profiles.md").read_text(encoding="utf-8")
    (profile,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    (document,) = re.findall(r"```markdown\n(.*?)```", page, re.DOTALL)
    file = tmp_path / "harvest.toml"
    file.write_text(profile, encoding="utf-8")
    found = Enriched(document, load_profile(str(file)))
    assert found.names == {"card": ("Barn", "Old Mill")}
    assert found.at("Barn").tags == ("cost:3",) and found.at("Barn").traits == ("Building", "Dry")
    assert found.at("Words").content_kind == "definition" and found.at("Words").terms == ("Fallow",)
    assert found.at("Words").aliases == ("VP",) and found.at("Words").tags == ("scoring",)
    assert found.pairs("uses") == [("Old Mill", "victory points"), ("Winter", "fallow")]
    assert found.pairs("grants") == [("Barn", "2 grain"), ("Old Mill", "1 vp")]
    assert found.at("Winter").content_kind == "rule"
    assert parse_profile(profile, origin="x") == load_profile(str(file))


def samples(name: str) -> Enriched:
    text = (ROOT / "samples" / name).read_text(encoding="utf-8")
    first = Enriched(text, "report")
    return Enriched(text, choose_profile(first.document, first.chunks, load_profiles()))


@pytest.mark.parametrize("edition", ["2021", "2024"])
def test_the_sample_code_defines_27_terms(edition: str) -> None:
    found = samples(f"electrical-code-{edition}.md")
    assert found.profile.name == "code"
    assert [place for place, _ in found.pairs("defines")] == ["100.3"] * 27
    assert {"AFD", "RCD"} <= set(found.at("100.3").aliases)


def test_the_sample_rulebook_is_recognised_whole() -> None:
    found = samples("rulebook.md")
    assert found.profile.name == "rulebook"
    counts = {kind: len(names) for kind, names in found.names.items()}
    assert counts == {
        "action": 7, "condition": 14, "creature": 12, "feat": 17, "item": 11, "spell": 20,
    }  # fmt: skip
    aliases = {link.target for link in found.links if link.relation == "alias_of"}
    assert {"armour rating", "target number", "experience points", "game leader"} <= aliases


def shared(files: Sequence[Path], profile: str) -> tuple[dict[str, int], list[Enriched]]:
    counts: dict[str, int] = {}
    found = []
    for file in files:
        found.append(Enriched(file.read_text(encoding="utf-8-sig"), profile))
        for kind, names in found[-1].names.items():
            counts[kind] = counts.get(kind, 0) + len(names)
    return counts, found


@needs_data
def test_srd_5_2_entries_are_found() -> None:
    folder = DATA / "srd-5.2/src"
    names = ["05_Feats", "07_Spells", "08_RulesGlossary", "12_MonstersA-Z", "13_Animals"]
    counts, found = shared([folder / f"{name}.md" for name in names], "rulebook")
    wanted = {"spell": 339, "creature": 329, "condition": 15, "feat": 17, "action": 12}
    assert {kind: counts[kind] for kind in wanted} == wanted
    spells = [facts for facts in found[1].facts.values() if facts.content_kind == "spell"]
    levels = [facts for facts in spells if any(tag.startswith("level:") for tag in facts.tags)]
    assert len(levels) >= 339


@needs_data
def test_srd_5_1_entries_are_found() -> None:
    files = [file for file in sorted((DATA / "srd-5.1/Spells").glob("*.md")) if file.name[0] != "#"]
    counts, found = shared(files, "rulebook")
    assert counts == {"spell": len(files)}
    places: list[Link] = [link for each in found for link in each.links]
    assert sum(link.relation == "has_trait" for link in places) >= len(files)


BALANCE = ("Total current assets", "Total assets", "Accounts payable", "Total equity")
EARNINGS = ("Net sales", "Cost of sales", "Provision for income taxes", "Net income per share")
FLOWS = ("Operating activities", "Depreciation", "Purchases", "Investing activities")


@pytest.mark.parametrize(
    ("title", "lines", "kind"),
    [
        ("Exhibit", BALANCE, "balance sheet"),
        ("Statements of Financial Position", BALANCE[:1], "balance sheet"),
        ("Analysis of Financial Condition", BALANCE[:2], "table"),
        ("Matters | Balance Sheets", BALANCE[2:3] + BALANCE[:1], "balance sheet"),
        ("Exhibit", EARNINGS, "income statement"),
        ("Exhibit", EARNINGS[:2], "table"),
        ("Exhibit", FLOWS, "cash flow statement"),
        ("Liquidity", FLOWS[:1], "table"),
        ("Results by Segment", EARNINGS[:1], "segment table"),
    ],
)
def test_a_statement_is_known_by_its_title_and_lines(
    title: str, lines: Sequence[str], kind: str
) -> None:
    rows = "".join(f"| {line} | {n} |\n" for n, line in enumerate(lines, 10))
    title, _, head = title.partition(" | ")  # some have their title in their head
    text = f"# Report\n\n## {title}\n\n| {head} | 2021 |\n|---|---|\n{rows}"
    filing = Enriched(text, "filing")
    assert filing.at(f"{title} Table").content_kind == kind


def test_a_card_decides_before_any_sign() -> None:
    code = Enriched("# Rules\n\n" + "(a) The owner shall pay.\n\n" * 9, "code")
    for kind, name in (("10-K", "filing"), ("contract", "contract"), ("act", "code")):
        told = Document("d.md", code.document.text, "Rules", {"kind": kind})
        assert choose_profile(told, code.chunks, load_profiles()).name == name


@pytest.mark.parametrize("profile", ["contract", "filing"])
def test_a_short_form_in_quotation_marks_is_another_name(profile: str) -> None:
    text = (
        "# Notes\n\nIt bears the Secured Overnight Financing Rate (“SOFR”). Value-at-risk"
        ' ("VaR") is told. Any action or proceeding (“Action”) is brought here.\n'
    )
    found = Enriched(text, profile)
    named = dict(zip(found.evidence("alias_of"), found.pairs("alias_of"), strict=True))
    assert named["SOFR"][1] == "secured overnight financing rate"
    assert named["VaR"][1] == "value-at-risk"
    assert "Action" not in named
