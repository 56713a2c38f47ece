"""The statement that finds the nearest vectors, and the index that makes it fast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pincite.store.array_files import Array
from pincite.store.postgres.values import to_number

# A model with fewer vectors is compared one by one: milliseconds, and nothing is missed.
EXACT_UP_TO = 10_000
# A filter that leaves no more vectors than this has them compared one by one.
FILTERED_EXACT = 20_000
MOST_INDEXED = 4000  # numbers of a vector; the server cannot index longer ones
INDEX = """CREATE INDEX IF NOT EXISTS vectors_of_{model} ON vectors
    USING hnsw ((embedding::halfvec({dimension})) halfvec_ip_ops) WHERE model = {model}"""
_NAMED = "(segment, number) IN (SELECT * FROM unnest(%(homes)s::bigint[], %(numbers)s::int[]))"


@dataclass(frozen=True, slots=True)
class Model:
    """A model as the server knows it."""

    number: int
    dimension: int
    count: int  # of its vectors, as far as it matters


def nearest(
    model: Model,
    names: Sequence[str],
    vector: Array,
    wanted: int,
    allowed: Mapping[str, Array],
    *,
    exact: bool,
) -> tuple[str, dict[str, Any], bool]:
    """Return the statement, its parameters, and whether it is meant for the server's own index."""
    free = [to_number(name) for name in names if name not in allowed]
    named = [to_number(name) for name in allowed]
    homes = np.repeat(named, [len(each) for each in allowed.values()])
    numbers = np.concatenate([np.zeros(0, dtype=np.int64), *allowed.values()])
    few_are_left = not free and len(homes) <= FILTERED_EXACT
    exact = exact or few_are_left or model.count < EXACT_UP_TO
    # With the cast the statement fits the server's own index, without it nothing is missed.
    column = "embedding" if exact else f"embedding::halfvec({model.dimension})"
    where = "segment = ANY(%(free)s::bigint[])"
    if len(homes):
        where = f"({where} OR {_NAMED})" if free else _NAMED
    distance = f"{column} <#> %(query)s::halfvec({model.dimension})"
    sql = f"""SELECT segment, number, -({distance}) AS near FROM vectors
        WHERE model = {model.number} AND {where} ORDER BY {distance} LIMIT {int(wanted)}"""
    query = "[" + ",".join(f"{value:.8g}" for value in vector.tolist()) + "]"
    values = {"free": free, "homes": homes.tolist(), "numbers": numbers.tolist(), "query": query}
    return sql, values, not exact
