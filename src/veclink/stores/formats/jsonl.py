"""JSON lines: one object a line with `vector` (or `embedding`), perhaps `id`, and the rest as payload."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from veclink.data.collection import Collection
from veclink.errors import InputError
from veclink.stores.arrow import table_of
from veclink.stores.fields import id_field, vector_field


def read(path: Path) -> Collection:
    """The vectors as float32. The first line decides how the fields are called and how long the vectors are."""
    rows: list[np.ndarray] = []
    ids: list[Any] = []
    payload: list[dict[str, Any]] = []
    vector_name = id_name = None
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            record = _record(line, number, path)
            if vector_name is None:
                lists = [key for key, value in record.items() if isinstance(value, list)]
                vector_name, id_name = (
                    vector_field(list(record), lists, f"{path}, line {number},"),
                    id_field(list(record)),
                )
            rows.append(_vector(record.pop(vector_name, None), vector_name, number, path))
            if len(rows[-1]) != len(rows[0]):
                raise InputError(
                    f"{path} has {len(rows[-1]):,} numbers in line {number:,} and {len(rows[0]):,} in the first; "
                    "give all vectors the same length."
                )
            if id_name is not None:
                if id_name not in record:
                    raise InputError(
                        f"{path} has no `{id_name}` in line {number:,}, but has in the first; give all lines one."
                    )
                ids.append(record.pop(id_name))
            payload.append(record)
    if not rows:
        raise InputError(f"{path} is empty; write one JSON object with a `vector` per line.")
    return Collection.from_array(
        np.stack(rows), ids=ids if id_name is not None else None, payload=table_of(payload), name=str(path)
    )


def _record(line: str, number: int, path: Path) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path} is not JSON in line {number:,} ({error.msg}, column {error.colno}); repair it."
        ) from error
    if not isinstance(record, dict):
        raise InputError(f"{path} has no JSON object in line {number:,}; write one object with a `vector` per line.")
    return record


def _vector(values: Any, name: str, number: int, path: Path) -> np.ndarray:
    try:
        vector = np.asarray(values)
    except ValueError:
        vector = np.asarray(None)
    if vector.ndim != 1 or vector.dtype.kind not in "fiu":
        raise InputError(f"{path} has no list of numbers in `{name}` of line {number:,}; repair or remove that line.")
    return vector.astype(np.float32)
