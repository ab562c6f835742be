"""Tables that are whole files of their kind, and not what veclink expects: other types, names, lengths, gaps."""

from __future__ import annotations

from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

NAMES = (
    "id", "vector", "title", "year", "embedding", "ids", "scale", "a", "b", "probability", "", "'", "日本", "_x", "$m",
)  # fmt: skip


def odd_table(rng: Random, rows: int = 6) -> pa.Table:
    """A table with a few columns, mostly one of ids and one of lists."""
    names = ["id", "vector"] if rng.random() < 0.7 else []
    names += rng.sample(NAMES, rng.randrange(0 if names else 1, 4))
    columns = []
    for name in names:
        usual = {"id": _ids, "vector": _vectors}.get(name, _anything)
        columns.append((usual if rng.random() < 0.7 else _anything)(rng, rows))
    return pa.table(columns, names=names)


def _ids(rng: Random, rows: int) -> pa.Array:
    return rng.choice(
        (
            pa.array([f"p{i}" for i in range(rows)]),
            pa.array(range(rows), rng.choice((pa.int16(), pa.uint64(), pa.int64()))),
            pa.array(["x"] * rows),
            pa.array([None, *range(rows - 1)]),
            pa.array([2**64 - 1 - i for i in range(rows)], pa.uint64()),
            pa.array([str(i) for i in range(rows)]).dictionary_encode(),
        )
    )


def _vectors(rng: Random, rows: int) -> pa.Array:
    width = rng.choice((0, 1, 3, 4, 4, 4, 200))
    numbers = np.random.default_rng(rng.randrange(99)).normal(size=(rows, width))
    kind = rng.choice(
        (pa.float16(), pa.float32(), pa.float64(), pa.int8(), pa.int64(), pa.uint8(), pa.bool_(), pa.string())
    )
    rows_of = [[_number(value, kind) for value in row] for row in numbers]
    if rng.random() < 0.2 and rows_of[0]:
        rows_of[rng.randrange(rows)][0] = rng.choice((None, rows_of[0][0]))
    if rng.random() < 0.2:
        rows_of[rng.randrange(rows)] = rng.choice((None, [], rows_of[0] * 2))
        return pa.array(rows_of, pa.list_(kind))
    fixed = rng.random() < 0.5 and width > 0
    return pa.array(rows_of, rng.choice((pa.list_(kind, width if fixed else -1), pa.large_list(kind))))


def _number(value: float, kind: pa.DataType) -> Any:
    if pa.types.is_string(kind):
        return str(value)
    if pa.types.is_boolean(kind):
        return value > 0
    if pa.types.is_float16(kind):
        return np.float16(value)
    return value if pa.types.is_floating(kind) else abs(int(value))


def _anything(rng: Random, rows: int) -> pa.Array:
    kinds = (
        lambda: pa.nulls(rows),
        lambda: pa.array([Decimal(i) / 4 for i in range(rows)], pa.decimal128(30, 20)),
        lambda: pa.array(range(rows), pa.timestamp("ns", tz="UTC")),
        lambda: pa.array([2**62] * rows, pa.timestamp("s")),
        lambda: pa.array([b"\xff\0"] * rows),
        lambda: pa.array([{"x": i, "y": [i]} for i in range(rows)]),
        lambda: pa.array([[("k", i)] for i in range(rows)], pa.map_(pa.string(), pa.int64())),
        lambda: pa.array([[[1.0, 2.0]]] * rows),
        lambda: pa.array([float("nan")] * rows),
        lambda: pa.array([True, None] * rows).slice(0, rows),
        lambda: pa.array([2**63 + i for i in range(rows)], pa.uint64()),
        lambda: pa.array(range(rows), pa.duration("us")),
        lambda: pa.array(range(rows), pa.date32()),
        lambda: pa.array(["\0", "", "x" * 9999, None, "日本", "=1"] * rows).slice(0, rows),
        lambda: pa.array(range(rows)).dictionary_encode(),
        lambda: _vectors(rng, rows),
        lambda: _ids(rng, rows),
    )
    return rng.choice(kinds)()
