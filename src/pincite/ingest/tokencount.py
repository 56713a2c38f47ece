"""How many tokens a GPT-style tokeniser makes of a text, estimated without its vocabulary.

The text is cut as such tokenisers cut it before they merge bytes; each piece then costs what
pieces of its kind and length cost on average. Measured against the real vocabulary (cl100k) on
8,733 pages of reports, laws, manuals and books: mean ratio 1.01, standard deviation 0.05.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from functools import lru_cache

_PIECE = re.compile(
    r"'(?:[sdmt]|ll|ve|re)\b|[^\r\n\w]?[^\W\d_]+|\d{1,3}| ?(?:[^\s\w]|_)+[\r\n]*"
    r"|\s*[\r\n]|\s+(?!\S)|\s",
    re.IGNORECASE,
)
# Longest words of a cost class, and their costs in tenths of a token: after a space, words in
# lower case and capitalised ones.
_LOWER = ((5, 9, 11, 13, 15), (10, 11, 12, 13, 18))
_CAPITAL = ((3, 5, 8, 10, 14), (10, 11, 13, 15, 17))
# So that nearly all texts (99.9 % in the measurement) stay below a limit that they are cut to.
_MARGIN = 1.08


def estimated_tokens(text: str) -> int:
    """Return the number of tokens, estimated from above.

    >>> estimated_tokens("The quick brown fox jumps over the lazy dog.")
    12
    """
    tenths = sum(map(_cost, _PIECE.findall(text)))
    return math.ceil(tenths * _MARGIN / 10)


@lru_cache(maxsize=100_000)
def _cost(piece: str) -> int:
    """Return the cost of a piece in tenths of a token."""
    if piece[0].isdigit() or piece.isspace():
        return 10
    if not piece[-1].isalpha():
        return _symbol_cost(piece.strip())
    if piece[0].isalpha():
        return _word_cost(piece, before="")
    return _word_cost(piece[1:], before=piece[0])


def _symbol_cost(symbols: str) -> int:
    n = len(symbols)
    if not symbols.isascii():
        return 11 if n == 1 else 8 * n
    if n <= 2:
        return 9 + n
    return 6 * n if n <= 8 else 40 + n


def _word_cost(word: str, *, before: str) -> int:
    """Return the cost of letters with the character that is glued to them, if any."""
    n = len(word)
    glued = before not in ("", " ")
    if not word.isascii():
        return _foreign_cost(word) + (10 if before and max(word) >= "\u0250" else 0)
    if before == "'" and n < 3:
        return 10
    if word.islower():
        if glued:
            return 14 if n <= 4 else 8 + 2 * n
        if before:
            return _by_length(n, _LOWER, beyond=18 * n // 10)
        return 10 if n <= 2 else 11 if n <= 4 else 10 + n
    if n > 1 and word[1:].islower():
        return _by_length(n, _CAPITAL, beyond=2 * n) + (9 if glued else 0 if before else 2)
    cost = (10 if n <= 2 else 9 + 2 * n) if word.isupper() else 13 + 2 * n
    return cost + ((8 if n > 1 else 2) if glued else 0)


def _foreign_cost(word: str) -> int:
    """Return the cost by script: Latin with accents, other alphabets, Chinese and the like."""
    highest = max(word)
    if highest < "\u0250":
        return 12 + 3 * len(word)
    return 10 * len(word) if highest < "\u2e80" else 15 * len(word)


def _by_length(n: int, table: tuple[tuple[int, ...], tuple[int, ...]], *, beyond: int) -> int:
    lengths, costs = table
    at = bisect_left(lengths, n)
    return costs[at] if at < len(costs) else beyond
