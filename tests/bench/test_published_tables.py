"""Published tables beside ours: fixed denominators, curves, times of whole questions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from experiments import rerank_reading, rerank_table, rulebook
from experiments.rerank_reading import Read, Spent
from experiments.rulebook import Ranks, variants
from experiments.tables import Table, shown
from pincite.measure.coverage import CoveredGold
from pincite.measure.questions import Question
from pincite.model.settings import Settings, load_settings
from pincite.search.candidates import Candidates

NAMES = list(variants(Settings()))


def ranks(group: str, **own: tuple[int, bool]) -> dict[str, Ranks]:
    """Return a question that all variants answer at rank 1, but for some."""
    found = {name: Ranks(group, 1, 1, True) for name in NAMES}
    changed = {name: Ranks(group, rank, 1, there) for name, (rank, there) in own.items()}
    return found | changed


def test_routing_counts_every_question_and_tells_the_others_apart() -> None:
    name = "ours, 3 chapters"
    rows = [ranks("a"), ranks("b", **{name: (0, False)}), ranks("c", **{name: (2, True)}), {}]
    _, routes = rulebook.tables(rows, Settings())
    narrow, *_, whole = routes.rows
    assert narrow["evaluability"] == pytest.approx(2 / 3)
    assert narrow["MRR"] == pytest.approx((1 + 0 + 0.5) / 3)
    assert narrow["MRR if evaluable"] == pytest.approx(0.75)
    assert narrow["hit@1"] == pytest.approx(1 / 3) and narrow["hit@1 if evaluable"] == 0.5
    assert narrow["published MRR, all questions"] == pytest.approx(0.85 * 0.39)
    assert whole["chapters"] == "all" and whole["MRR"] == 1.0


def test_the_published_order_of_widths_turns_round_over_all_questions() -> None:
    _, routes = rulebook.tables([ranks("a"), ranks("b")], Settings())
    widths = list(routes.rows)[:3]
    alone = [row["published MRR if evaluable"] for row in widths]
    over_all = [row["published MRR, all questions"] for row in widths]
    assert alone == sorted(alone, reverse=True) and over_all == sorted(over_all)


def test_expanded_gold_is_a_column_of_its_own() -> None:
    rows = [ranks(str(n), **{"published + graph (code)": (2, True)}) for n in range(8)]
    ablations, _ = rulebook.tables(rows, Settings())
    row = next(each for each in ablations.rows if each["pipeline"] == "published + graph (code)")
    assert row["MRR"] == 0.5 and row["expanded gold"] == 0.5 and row["MRR change"] == -0.5


def test_variants_differ_in_what_they_say() -> None:
    made = {name: each.settings for name, each in variants(Settings()).items()}
    published = made["published"]
    assert published.search.meaning_weight == 0.6 and published.tuning.lexical.k1 == 1.5
    assert made["published + graph (code)"].tuning.graph.seed_k == 12
    assert made["published + graph (recommended)"].tuning.graph.decay == 0.4
    assert published.left_out == {"names", "aliases"}
    assert made["published + aliases"].left_out == {"names"}
    assert made["ours, 12 chapters"].tuning.routing.top_n == 12


def question(name: str, relevant: Sequence[int], chances: Sequence[float], ms: float) -> Read:
    """Return a read question with made candidates c00, c01, …"""
    ids = [f"c{n:02}" for n in range(len(chances))]
    found = Candidates.of(ids, {"meaning": 1 - np.arange(len(ids)) / 100})
    meets = {each: {0: 1.0} if n in relevant else {} for n, each in enumerate(ids)}
    gold = CoveredGold(Question(name, name), ((),), {}, frozenset(), (1.0,), frozenset())
    judged = dict(zip(ids, chances, strict=True))
    read = rerank_reading.reread(found, judged, rerank_reading.REPLACE)
    orders = {
        "meaning": ids,
        "meaning + re-ranking": read,
        "ours": ids,
        "ours + re-ranking": ids,
    }
    reading = [Spent(ms * (n + 1), ms * (n + 1)) for n in range(len(chances))]
    return Read(name, gold, meets, orders, chances, found, Spent(10, 5), Spent(1, 1), reading, 24)


@pytest.fixture
def reads() -> list[Read]:
    """Two questions: reading puts the answer of the first on top, and loses that of the second."""
    chances = [n / 100 for n in range(40)]
    return [question("a", [39], chances, 1.0), question("b", [0], chances, 3.0)]


def test_totals_are_of_whole_questions(reads: list[Read]) -> None:
    times = {row["component"]: row for row in rerank_table.tables(reads)[0].rows}
    assert times["cross-encoder"]["ms p50"] == pytest.approx(48)
    assert times["with re-ranking, whole"]["ms p50"] == pytest.approx(59)
    assert times["with re-ranking, whole"]["published p95"] == 720
    assert (
        times["encoding the question"]["CPU p50"] == 5 and times["cross-encoder"]["questions"] == 2
    )


def test_measures_stand_beside_the_published(reads: list[Read]) -> None:
    rows = {(r["first stage"], r["measure"]): r for r in rerank_table.tables(reads)[1].rows}
    row = rows["meaning", "RR"]
    # The last candidate reads best, the first worst.
    assert row["without"] == pytest.approx((1 / 40 + 1) / 2)
    assert row["with"] == pytest.approx((1 + 1 / 40) / 2)
    assert row["published without"] == 0.73 and rows["ours", "RR"]["published with"] is None


def test_a_wider_pool_holds_more_answers_and_takes_longer(reads: list[Read]) -> None:
    rows = rerank_table.tables(reads)[2].rows
    inside = [row["answer among them"] for row in rows]
    spent = [row["ms p50"] for row in rows]
    assert inside == sorted(inside) and inside[-1] == 1.0
    assert spent == sorted(spent) and [row["candidates"] for row in rows] == [8, 12, 16, 24, 40]


def test_a_threshold_leaves_less_and_less(reads: list[Read]) -> None:
    rows = rerank_table.tables(reads)[3].rows
    left = [row["hits a question"] for row in rows]
    assert left == sorted(left, reverse=True) and left[0] == 8 and left[-1] == 0
    assert rows[-1]["hits that answer"] is None


def test_a_table_is_plain_for_programs() -> None:
    table = Table("T", [{"name": "a", "value": 0.5}, {"name": "b", "more": (0.1, 0.2)}], ["n"])
    assert table.heads == ["name", "value", "more"]
    assert json.loads(json.dumps(table.plain()))["rows"][0] == {"name": "a", "value": 0.5}
    assert shown(None) == ""


def test_rulebook_asks_all_variants(tmp_path: Path) -> None:
    """A tiny rulebook: two spells and a chapter, questions without the spells' names."""
    texts = {
        "Spells/Ember Ring.md": "# Ember Ring\n\nA ring of embers burns whoever touches you.\n",
        "Spells/Slow Tide.md": "# Slow Tide\n\nWater rises around the feet of your enemies.\n",
        "Gameplay/Combat.md": "# Combat\n\n## Turns\n\nEvery creature acts once in a round.\n",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    asked = [
        {
            "question": "In Ember Ring, what burns whoever touches me?",
            "source_document": "Ember Ring.md",
        },
        {
            "question": "For Slow Tide, where does the water rise?",
            "source_document": "Slow Tide.md",
        },
        {"question": "What of a spell that is not there?", "source_document": "None.md"},
    ]
    file = tmp_path / "asked.json"
    file.write_text(json.dumps(asked), encoding="utf-8")
    own = load_settings(overrides=["embedding.model=none"])
    rows = list(rulebook.run(tmp_path, file, own))
    assert [bool(row) for row in rows] == [True, True, False]
    assert all(row["ours"].rank == 1 for row in rows[:2])
    ablations, routes = rulebook.tables(rows, own)
    assert [row["pipeline"] for row in ablations.rows][:2] == ["published", NAMES[1]]
    assert routes.rows[-1]["MRR"] == 1.0


class Counts:
    """A scorer that counts common words."""

    id = "counts"

    def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        words = set(query.lower().split())
        return [len(words & set(text.lower().split())) / 20 for text in texts]


def test_candidates_are_read_with_the_clock_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "part97.md").write_text(
        "# PART 97\n\n## § 97.1 Purpose.\n\nThe purpose is to enhance communication.\n\n"
        "## § 97.3 Power.\n\n(a) The station may use 100 W.\n\n(b) A beacon may use 10 W.\n",
        encoding="utf-8",
    )
    asked = {"pool": "p", "id": "T1", "question": "How much power may a beacon use?"}
    file = tmp_path / "asked.jsonl"
    file.write_text(json.dumps({**asked, "cited": "[97.3(b)]", "gold_sections": ["97.3"]}), "utf-8")
    monkeypatch.setattr(rerank_reading, "open_scorer", lambda _: Counts())
    (read,) = rerank_reading.run(tmp_path, file, Settings())
    walls = [each.wall for each in read.reading]
    assert walls == sorted(walls) and len(walls) == len(read.found) == len(read.chances)
    assert any(read.meets[i] for i in read.orders["ours"])
    chances = dict(zip(read.found.names(), read.chances, strict=True))
    assert chances[read.orders["meaning + re-ranking"][0]] == max(read.chances)
    assert [each.title for each in rerank_table.tables([read])] == [
        "Time by component",
        "Precision",
        "Over-retrieval",
        "Threshold",
    ]
