"""The language model's client, spoken to over a real socket, with faults."""

from __future__ import annotations

import time
from typing import Any

import pytest

from pincite.answer.language_model import LanguageModel
from pincite.answer.values import Usage
from pincite.model.errors import ConfigError, ModelError, PinciteError
from pincite.model.settings import Answering

PROMPT = [{"role": "user", "content": "Is it so?"}]


def generator(model: Any, **settings: Any) -> tuple[LanguageModel, list[float]]:
    chosen = {"url": model.url, "model": "some-model", "retries": 2, **settings}
    made, pauses = LanguageModel(Answering(**chosen)), []
    made.service._sleep = pauses.append
    return made, pauses


def words_of(made: LanguageModel) -> tuple[str, Usage]:
    *words, usage = made.stream(PROMPT)
    assert isinstance(usage, Usage)
    return "".join(map(str, words)), usage


def test_words_come_one_by_one_with_what_they_cost(model: Any) -> None:
    model.usage = {"prompt_tokens": 1000, "completion_tokens": 20}
    made, _ = generator(model, price_in=2.0, price_out=10.0, temperature=0.5)
    stream = made.stream(PROMPT)
    assert [next(stream), next(stream)] == ["Yes", " [1]"]
    rest = list(stream)
    assert rest == [".", Usage(1000, 20, 0.0022)]
    body = model.bodies[0]
    assert (body["model"], body["stream"], body["temperature"]) == ("some-model", True, 0.5)
    assert body["messages"] == PROMPT


def test_a_service_that_does_not_count_is_estimated(model: Any) -> None:
    _, usage = words_of(generator(model)[0])
    assert usage.is_estimate and usage.prompt_tokens > 0 and usage.completion_tokens > 0


@pytest.mark.parametrize("code", [429, 500, 503])
def test_what_may_pass_is_tried_again_and_pauses_as_asked(model: Any, code: int) -> None:
    model.faults = [(code, {"Retry-After": "7"}), (code, {})]
    made, pauses = generator(model)
    assert words_of(made)[0] == "Yes [1]."
    assert len(model.bodies) == 3 and 7 <= pauses[0] <= 8


def test_it_gives_up(model: Any) -> None:
    model.faults = [(500, {})] * 9
    with pytest.raises(ModelError, match="failed 3 times: HTTP 500"):
        words_of(generator(model)[0])
    assert len(model.bodies) == 3


def test_nothing_is_begun_again_after_the_first_word(model: Any) -> None:
    model.drop_after = 2
    made, _ = generator(model)
    stream = made.stream(PROMPT)
    assert [next(stream), next(stream)] == ["Yes", " [1]"]
    with pytest.raises(ModelError, match="in the middle of its answer"):
        next(stream)
    assert len(model.bodies) == 1


def test_a_connection_that_ends_before_the_first_word_is_tried_again(model: Any) -> None:
    model.drop_after = 0
    with pytest.raises(ModelError, match="failed 3 times"):
        words_of(generator(model)[0])
    assert len(model.bodies) == 3


def test_a_slow_service_is_given_up(model: Any) -> None:
    model.pause = 1.0
    made, _ = generator(model, timeout_seconds=0.3, retries=0)
    start = time.monotonic()
    with pytest.raises(ModelError, match="no answer in"):
        words_of(made)
    assert time.monotonic() - start < 3
    made, _ = generator(model, timeout_seconds=30.0, idle_seconds=0.3)
    with pytest.raises(ModelError, match="in the middle of its answer"):
        words_of(made)


@pytest.mark.parametrize(
    "raw",
    [
        b"data: not json\n\n",
        b"data: [1, 2]\n\n",
        b'data: {"choices": "none"}\n\n',
        b'data: {"choices": [{"delta": {"content": 5}}]}\n\n',
        b'data: {"choices": [{"delta": {"content": "a"}}]}\n\ndata: {{{\n\n',
        b"\xff\xfe\x00data\n\ndata: \xff\n\n",
        b"data: " + b"[" * 100_000 + b"\n\n",
        b"x" * 2_000_000,
        b'data: {"error": {"message": "out of memory"}}\n\n',
    ],
)
def test_garbage_is_one_clear_error(model: Any, raw: bytes) -> None:
    model.raw = raw
    with pytest.raises(PinciteError) as caught:
        words_of(generator(model, retries=0)[0])
    assert caught.value.hint


def test_closing_the_stream_closes_the_connection(model: Any) -> None:
    model.words, model.pause = ["word "] * 2000, 0.01
    stream = generator(model)[0].stream(PROMPT)
    next(stream)
    stream.close()
    assert model.closed.wait(10)
    assert model.sent < 1000


def test_other_dialects_of_the_end(model: Any) -> None:
    model.is_plain = True
    assert words_of(generator(model)[0])[0] == "Yes [1]."
    model.is_plain = False
    model.raw = b'data: {"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}]}\n'
    assert words_of(generator(model)[0])[0] == "a"
    model.raw = b'data:{"choices":[{"delta":{"content":"a"}}]}\r\n\r\ndata: [DONE]\r\n\r\n'
    assert words_of(generator(model)[0])[0] == "a"


def test_the_key_goes_out_and_is_never_told(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "sk-very-secret")
    words_of(generator(model, api_key_env="SOME_KEY")[0])
    assert model.headers[0]["authorization"] == "Bearer sk-very-secret"
    model.faults = [(401, {})]
    with pytest.raises(ConfigError) as caught:
        words_of(generator(model, api_key_env="SOME_KEY")[0])
    assert "very-secret" not in f"{caught.value} {caught.value.hint}"


def test_a_service_without_a_model_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"answer\.model"):
        LanguageModel(Answering(url="http://localhost:1/v1"))
