"""Walks over the graph: where they start, what they follow, and what they are told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pincite import Index, find_files, ingest_files
from pincite.index.graph_walk import TraversalIndex
from pincite.model.errors import ConfigError
from pincite.model.profiles import TomlReader
from pincite.model.settings import load_settings
from pincite.model.traversal import TraversalConfig, load_traversal, parse_traversal
from pincite.search.traversal import WalkedPlace, walk

SAMPLES = Path(__file__).parents[3] / "samples"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    folder = tmp_path_factory.mktemp("walk")
    list(ingest_files(find_files([SAMPLES / "electrical-code-2024.md"]), folder))
    with Index.open(folder) as opened:
        yield opened


@pytest.fixture(scope="module")
def walker(index: Index) -> TraversalIndex:
    return TraversalIndex.build(index.snapshot, index.opened.analyzer)


def config(**values: object) -> TraversalConfig:
    return parse_traversal(TomlReader(values, "test"), "v1")


def found(walker: TraversalIndex, query: str, **values: object) -> dict[str, WalkedPlace]:
    walked = walk(query, walker, config(**values))
    places = walker.places(each.chunk_id for each in walked.places)
    return {places[each.chunk_id].locator: each for each in walked.places}


def test_a_named_place_is_where_a_walk_starts(walker: TraversalIndex) -> None:
    candidates = found(walker, "250.122")
    assert next(iter(candidates)) == "250.122"
    assert str(candidates["250.122"]) == "“250.122” —names→ 250.122"


def test_a_policy_says_what_is_followed(walker: TraversalIndex) -> None:
    down = {"name": "default", "depth": 1, "follow": [{"relation": "contains", "weight": 0.5}]}
    assert "250.122(B)" not in found(walker, "250.122")
    reached = found(walker, "250.122", policy=[down])["250.122(B)"]
    assert [step.relation for step in reached.path] == ["names", "contains"]
    assert reached.path[-1].is_forward
    up = {**down, "follow": [{"relation": "contains", "direction": "in"}]}
    assert not found(walker, "250.122(B)", policy=[up])["250.122"].path[-1].is_forward


def test_links_are_followed_both_ways(index: Index, walker: TraversalIndex) -> None:
    links = index.snapshot.links("electrical-code-2024.md")
    link = next(each for each in links if each.relation == "refers_to" and "(" in each.target)
    (source,) = index.snapshot.get([link.source])
    target = next(each for each in index.show(link.target))
    for start, end, direction in ((source, target, "out"), (target, source, "in")):
        follow = [{"relation": "refers_to", "direction": direction}]
        policy = [{"name": "default", "depth": 1, "follow": follow}]
        assert end.locator in found(walker, start.locator, policy=policy)


def test_each_step_is_worth_less(walker: TraversalIndex) -> None:
    follow = [{"relation": "contains", "weight": 0.5}]
    deep = found(walker, "210.8", policy=[{"name": "default", "depth": 3, "follow": follow}])
    assert deep["210.8"].score > deep["210.8(A)"].linked > deep["210.8(A)(2)"].linked > 0


def test_the_intent_chooses_the_policy(walker: TraversalIndex) -> None:
    own = config(
        policy=[{"name": "narrow"}],
        intent=[{"name": "where", "patterns": ["(?i)^where"], "policy": "narrow"}],
    )
    walked = walk("Where is 210.8?", walker, own)
    assert (walked.intent, walked.policy, walked.version) == ("where", "narrow", "v1")
    assert walk("210.8", walker, own).policy == "default"


def test_priority_terms_weigh_more(walker: TraversalIndex) -> None:
    plain = found(walker, "ampacity and 210.8")["210.8"]
    raised = found(walker, "ampacity and 210.8", priority={"210.8": 3.0})["210.8"]
    assert raised.named == pytest.approx(plain.named + 2.0)


def test_content_kinds_are_weighed(walker: TraversalIndex) -> None:
    follow = [{"relation": "contains"}]
    policy = {"name": "default", "follow": follow, "kinds": {"definition": 0.0}}
    names = found(walker, "ampacity", policy=[{**policy, "kinds": {}}])
    assert names
    assert len(found(walker, "ampacity", policy=[policy])) < len(names)


def test_what_nothing_names_finds_nothing(walker: TraversalIndex) -> None:
    assert walk("zzz qqq", walker, load_traversal("auto")).places == ()


def test_the_shipped_walks_are_versioned() -> None:
    code, both = load_traversal("code"), load_traversal("auto")
    assert both.version.startswith(code.version)
    assert {"definition", "exception", "spell"} <= {intent.name for intent in both.intents}
    assert load_traversal("report").policies.keys() == {"default"}


def test_a_profile_of_ones_own_is_read(tmp_path: Path, index: Index) -> None:
    own = tmp_path / "own.toml"
    own.write_text(
        'name = "own"\nextends = "code"\n'
        '[[traversal.intent]]\nname = "limit"\npatterns = ["(?i)how (?:many|much)"]\n'
    )
    assert load_traversal(str(own)).intents[0].name == "limit"
    sets = ["search.preset=traversal", f"search.traversal={own}"]
    result = Index(index.opened, load_settings(overrides=sets)).search("250.122")
    hit = result.ranking.hits[0]
    assert sum(hit.features.values()) == pytest.approx(hit.score)
    assert result.passages[0].chunk.locator == "250.122"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"intents": []}, "unknown key intents"),
        ({"intent": [{"name": "x", "policy": "none"}]}, "no policy called 'none'"),
        ({"intent": [{"name": "x", "patterns": ["("]}]}, "no valid pattern"),
        ({"intent": [{"name": "x", "patterns": ["a" * 501]}]}, "501 characters"),
        ({"policy": [{"name": "x", "follow": [{"weight": 1}]}]}, "relation is missing"),
        ({"policy": [{"name": "x", "follow": [{"relation": "y", "direction": "up"}]}]}, "one of"),
    ],
)
def test_mistakes_are_told(values: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        config(**values)
    assert message in caught.value.message


def test_mistakes_are_found_when_the_profile_is_read(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text('name = "own"\n[traversal]\nwalk = true\n')
    settings = load_settings(overrides=[f"ingest.profile={own}"])
    with pytest.raises(ConfigError, match="unknown key walk"):
        list(ingest_files([], tmp_path / "index", settings))


def test_a_pattern_that_is_slow_on_a_query_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pincite.model.profiles.MAX_SECONDS", 0.05)
    own = config(intent=[{"name": "slow", "patterns": ["(a|aa)+$"]}])
    assert own.policy_for("a")[0] == "slow"
    with pytest.raises(ConfigError, match=r"intent slow: patterns: \(a\|aa\)\+\$: took more"):
        own.policy_for("a" * 400 + "!")
