"""Routing: which groups a question goes to, when it is not taken, and what an oracle may do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from pincite.api import Index
from pincite.index.filters import Groups
from pincite.model.settings import Settings, merged
from pincite.model.tuning import RoutingTuning
from pincite.model.types import Filters, Query
from pincite.search.build import build
from pincite.search.pipeline import Searcher
from pincite.search.routing import Route

TEXTS = {
    "law/fees.md": "# Fees\n\n## Harbour\n\nA fee is due.\n\n## Lamps\n\nNo fee for lamps.\n",
    "law/crime.md": "# Crime\n\n## Theft\n\nTheft of a lamp is a crime.\n",
    "manual/lamp.md": "# Lamp\n\n## Cleaning\n\nClean the lamp with a cloth.\n",
}
Make = Callable[..., Index]


@pytest.fixture
def index(make_index: Make) -> Index:
    return make_index(TEXTS)


def routed(index: Index, by: str = "folder", **settings: Any) -> Searcher:
    """Return a search by words alone with a router before it."""
    values = {"preset": "lexical", "without": "places,names", "route_by": by}
    tuning = {"routing": RoutingTuning(**settings)}
    chosen = merged(Settings(), {"search": values, "tuning": tuning}, origin="test")
    return build(chosen, index.opened)


def route(index: Index, text: str) -> Route:
    router = routed(index).router
    assert router is not None
    return router.route(index.parse(text))


def documents(index: Index, ids: Sequence[str]) -> set[str]:
    return {chunk.span.doc_id for chunk in index.snapshot.get(ids)}


def test_groups_are_folders_documents_or_chapters(index: Index) -> None:
    assert sorted(Groups(index.snapshot, "folder").names) == ["folder:law", "folder:manual"]
    assert len(Groups(index.snapshot, "document").names) == 3
    chapters = Groups(index.snapshot, "chapter").names
    assert "chapter:law/fees.md > Lamps" in chapters


def test_a_route_goes_where_the_words_are(index: Index) -> None:
    found = route(index, "clean the lamp with a cloth")
    assert found.names[0] == "folder:manual"
    assert sum(found.shares) == pytest.approx(1)
    assert found.shares[0] == max(found.shares)
    assert 0 < found.confidence <= 1
    assert route(index, "lamp").confidence < found.confidence


def test_words_of_a_group_s_name_count(index: Index) -> None:
    assert route(index, "lamp").names
    named = route(index, "lamp manual")
    share = dict(zip(named.names, named.shares, strict=True))["folder:manual"]
    # "manual" is in no text: it has no weight of its own, and a route must not break on it.
    assert 0 < share < 1


def test_only_the_chosen_groups_are_searched(index: Index) -> None:
    query = Query("clean the lamp with a cloth")
    narrow = routed(index, top_n=1, min_confidence=0.0).find(query, 10)
    assert documents(index, narrow.names()) == {"manual/lamp.md"}
    assert all(0 < share <= 1 for share in narrow.raw["route"].tolist())


def test_a_route_that_is_not_sure_is_not_taken(index: Index) -> None:
    query = Query("lamp")
    whole = routed(index, top_n=1, min_confidence=1.0).find(query, 10)
    assert whole.names() == routed(index, "off").find(query, 10).names()
    assert documents(index, whole.names()) == set(TEXTS)


def test_a_question_without_known_words_goes_nowhere(index: Index) -> None:
    assert not len(routed(index).find(Query("zzz"), 10))


def test_an_oracle_is_asked_only_where_one_is_given(index: Index) -> None:
    searcher = routed(index, min_confidence=1.0)
    assert searcher.router is not None
    searcher.router.oracle_groups = lambda text: ["folder:law"]
    found = searcher.find(Query("clean the lamp with a cloth"), 10)
    assert documents(index, found.names()) == {"law/crime.md", "law/fees.md"}


def test_groups_of_the_query_are_kept(index: Index) -> None:
    asked = Query("clean the lamp", filters=Filters(groups=("folder:law",)))
    found = routed(index, top_n=1, min_confidence=0.0).find(asked, 10)
    assert documents(index, found.names()) <= {"law/crime.md", "law/fees.md"}


def test_settings_put_a_router_into_the_pipeline(make_index: Make) -> None:
    settings = Settings().changed(
        {"search.route_by": "document", "tuning.routing": RoutingTuning(1, 0.0)}
    )
    index = make_index(TEXTS, settings)
    result = index.search("theft of a lamp", 10)
    assert documents(index, result.ranking.ids) == {"law/crime.md"}
    # A named place comes out wherever the route goes.
    named = index.search("Cleaning", 10)
    assert named.passages[0].place.locator == "Cleaning"
