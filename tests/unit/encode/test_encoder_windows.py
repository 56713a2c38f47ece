"""Windows cover a text, and no more than the model takes."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from pincite.encode.encoders import OnnxEncoder
from pincite.encode.models import SHIPPED
from pincite.encode.windows import HEADING_TOKENS, WINDOW_TOKENS, cut, windows_of
from pincite.model.types import Chunk, Span

ENCODER = OnnxEncoder(SHIPPED)


def chunk(text: str, path: tuple[str, ...] = ("Code", "Article 1")) -> Chunk:
    return Chunk("id", Span("d", 0, len(text)), text, "clause", "1.1", "", path, len(text))


@given(st.integers(1, 2000), st.integers(3, 300), st.integers(0, 100))
def test_stretches_cover_the_text_and_keep_the_limit(count: int, size: int, overlap: int) -> None:
    overlap = min(overlap, size - 2)
    found = cut([3 * i for i in range(count)], 3 * count, size, overlap)
    assert found[0][0] == 0
    assert found[-1][1] == 3 * count
    assert all((end - start) // 3 <= size for start, end in found)
    if len(found) > 1:
        shared = [a[1] - b[0] for a, b in pairwise(found)]
        assert min(shared) >= 3 * overlap - 3


def test_no_window_is_longer_than_the_model_takes() -> None:
    text = "1.2.3-4/5 §§ 0.0001 kΩ; " * 400
    path = ("Code", *["A heading of many long words, more than anybody would read " * 5] * 3)
    windows = windows_of(chunk(text, path), ENCODER)
    counts = [len(ENCODER._tokenizer.encode(window).ids) for window in windows]
    assert len(windows) > 10
    assert max(counts) <= WINDOW_TOKENS + HEADING_TOKENS + 4 <= SHIPPED.max_tokens


def test_a_short_chunk_is_one_window_under_its_headings() -> None:
    assert windows_of(chunk("Keep clear."), ENCODER) == ["Article 1\nKeep clear."]
    assert windows_of(chunk("  \n "), ENCODER) == []
