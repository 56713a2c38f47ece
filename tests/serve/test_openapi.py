"""The description of the service is true: random requests break neither it nor the service."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as tried
from hypothesis.errors import Unsatisfiable

from .conftest import client, run, served, settings

schemathesis = pytest.importorskip("schemathesis", reason="needs schemathesis")

EXAMPLES = int(os.environ.get("SCHEMA_EXAMPLES", "5"))  # of each kind for each route
# Bodies of other makers are taken as they come, and old clients' too.
LENIENT = ("/rerank", "/v1/rerank", "/v2/rerank", "/v1/embeddings", "/v1/chat/completions")
LENIENT = (*LENIENT, "/api/ruleslawyer/query", "/sessions/{session}/messages")
LENIENT = (*LENIENT, "/v1/responses", "/v1/vector_stores/{store}/search")
LENIENT = (*LENIENT, "/v1/documents")  # a part of a form has no type: null is a file of four bytes


@pytest.fixture(scope="module")
def address(sample_index: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("described") / "index"
    shutil.copytree(sample_index, folder)
    with served(folder, settings(rate_per_minute=0, texts=20, jobs=100_000)) as found:
        yield found


def test_every_route_is_described(sample_index: Path) -> None:
    async def ask() -> Any:
        async with client(sample_index) as opened:
            return (await opened.get("/openapi.json")).json()

    described = run(ask())
    for path, methods in described["paths"].items():
        for method, facts in methods.items():
            assert facts.get("description"), f"{method} {path}"
    bodies = described["components"]["schemas"]
    for name in ("SearchBody", "AskBody", "ChatBody", "RerankBody", "FeedbackBody"):
        assert bodies[name]["examples"], name


@pytest.mark.slow
def test_random_requests_break_nothing(address: str) -> None:
    """No error of the server, no status, type or shape of an answer that is not described."""
    checks = schemathesis.checks
    always = [
        checks.not_a_server_error,
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_headers_conformance,
        checks.response_schema_conformance,
    ]
    schema = schemathesis.openapi.from_url(f"{address}/openapi.json")
    count = 0
    for found in schema.get_all_operations():
        operation = found.ok()
        strict = [] if operation.path in LENIENT else [checks.negative_data_rejection]
        for mode in schemathesis.GenerationMode:
            count += _tried(operation.as_strategy(generation_mode=mode), [*always, *strict])
    assert count > 150


def _tried(strategy: Any, checks: list[Any]) -> int:
    """Send some requests and check the answers; return how many there were."""
    count = 0

    @tried(
        max_examples=EXAMPLES,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=strategy)
    def attempt(case: Any) -> None:
        nonlocal count
        count += 1
        case.call_and_validate(checks=checks)

    with suppress(Unsatisfiable):  # nothing can be wrong in a request that has no parts
        attempt()
    return count
