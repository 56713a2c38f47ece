"""Routing: which groups a question goes to, when it is not taken, and what an oracle may do."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pincite.api import Index
from pincite.core.settings import RoutingSettings, Settings
from pincite.core.types import Filters, Query
from pincite.index.groups import Groups
from pincite.search.words import Lexical
from pincite.search.routing import Routed, Router

TEXTS = {
    "law/fees.md": "# Fees\n\n## Harbour\n\nA fee is due.\n\n## Lamps\n\nNo fee for lamps.\n",
    "law/crime.md": "# Crime\n\n## Theft\n\nTheft of a lamp is a crime.\n",
    "manual/lamp.md": "# Lamp\n\n## Cleaning\n\nClean the lamp with a cloth.\n",
}
Make = Callable[..., Index]


@pytest.fixture
def index(make_index: Make) -> Index:
    return make_index(TEXTS)


def router(index: Index, by: str) -> Router:
    lexical = Lexical(index.opened)
    return Router(lexical, Groups(index.snapshot, by))  # type: ignore[arg-type]


def routed(index: Index, by: str, **settings: object) -> Routed:
    chosen = RoutingSettings(by=by, **settings)  # type: ignore[arg-type]
    made = router(index, by)
    return Routed(made.lexical, made, chosen)


def documents(index: Index, ids: tuple[str, ...]) -> set[str]:
    return {chunk.span.doc_id for chunk in index.snapshot.get(ids)}


def test_groups_are_folders_documents_or_chapters(index: Index) -> None:
    assert sorted(Groups(index.snapshot, "folder").names) == ["folder:law", "folder:manual"]
    assert len(Groups(index.snapshot, "document").names) == 3
    chapters = Groups(index.snapshot, "chapter").names
    assert "chapter:law/fees.md > Lamps" in chapters


def test_a_route_goes_where_the_words_are(index: Index) -> None:
    route = router(index, "folder").route(Query("clean the lamp with a cloth"))
    assert route.names[0] == "folder:manual"
    assert sum(route.shares) == pytest.approx(1)
    assert route.shares[0] == max(route.shares)
    assert 0 < route.confidence <= 1
    vague = router(index, "folder").route(Query("lamp"))
    assert vague.confidence < route.confidence


def test_words_of_a_group_s_name_count(index: Index) -> None:
    plain = router(index, "folder").route(Query("lamp"))
    named = router(index, "folder").route(Query("lamp manual"))
    share = dict(zip(named.names, named.shares, strict=True))["folder:manual"]
    assert plain.names
    # "manual" is in no text: it has no weight of its own, and a route must not break on it.
    assert 0 < share < 1


def test_only_the_chosen_groups_are_searched(index: Index) -> None:
    query = Query("clean the lamp with a cloth")
    narrow = routed(index, "folder", top_n=1, min_confidence=0.0).retrieve(query, 10)
    assert documents(index, narrow.ids) == {"manual/lamp.md"}
    assert narrow.query == query
    assert all(0 < hit.raw["route"] <= 1 for hit in narrow.hits)


def test_a_route_that_is_not_sure_is_not_taken(index: Index) -> None:
    query = Query("lamp")
    retriever = routed(index, "folder", top_n=1, min_confidence=1.0)
    whole = retriever.retrieve(query, 10)
    assert whole.ids == retriever.inner.retrieve(query, 10).ids
    assert documents(index, whole.ids) == set(TEXTS)


def test_a_question_without_known_words_goes_nowhere(index: Index) -> None:
    assert routed(index, "folder").retrieve(Query("zzz"), 10).hits == ()


def test_an_oracle_is_asked_only_where_one_is_given(index: Index) -> None:
    made = router(index, "folder")
    settings = RoutingSettings(by="folder", min_confidence=1.0)
    retriever = Routed(made.lexical, made, settings, oracle_groups=lambda _: ["folder:law"])
    found = retriever.retrieve(Query("clean the lamp with a cloth"), 10)
    assert documents(index, found.ids) == {"law/crime.md", "law/fees.md"}


def test_groups_of_the_query_are_kept(index: Index) -> None:
    asked = Query("clean the lamp", filters=Filters(groups=("folder:law",)))
    found = routed(index, "folder", top_n=1, min_confidence=0.0).retrieve(asked, 10)
    assert documents(index, found.ids) <= {"law/crime.md", "law/fees.md"}


def test_settings_put_a_router_into_the_pipeline(make_index: Make) -> None:
    settings = Settings(routing=RoutingSettings(by="document", top_n=1, min_confidence=0.0))
    index = make_index(TEXTS, settings)
    result = index.search("theft of a lamp", 10)
    assert documents(index, result.ranking.ids) == {"law/crime.md"}
    # A named place comes out wherever the route goes.
    named = index.search("Cleaning", 10)
    assert named.passages[0].place.locator == "Cleaning"
