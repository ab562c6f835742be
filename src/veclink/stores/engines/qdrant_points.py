"""How ids, payload and filters are told to Qdrant, and how a local folder takes many points at once."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from veclink.errors import InputError, needed
from veclink.stores.filters import Condition
from veclink.stores.protocol import Id

_NAMES = uuid.UUID("b4cf5a3e-6f0c-4a55-9a0e-2f2d0c6d8f11")
_BOUNDS = {"=": ("gte", "lte"), "<": ("lt",), "<=": ("lte",), ">": ("gt",), ">=": ("gte",)}


def is_point_id(value: Any) -> bool:
    """Whether a point can be called this: a whole number of 64 bits, or a UUID in its usual spelling."""
    if isinstance(value, int):
        return 0 <= value < 2**64
    try:
        return str(uuid.UUID(value)) == value
    except (ValueError, AttributeError):
        return False


def pair_id(a: Id, b: Id) -> str:
    """The point that stands for a link, the same each time."""
    return str(uuid.uuid5(_NAMES, json.dumps([a, b])))


def plain(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Payload as JSON takes it: dates and the like as text."""
    return json.loads(json.dumps(records, default=str))


def condition_of(condition: Condition) -> Any:
    """A filter in Qdrant's own terms."""
    models: Any = needed("qdrant_client.models", "Qdrant", install="veclink[qdrant]")
    value = condition.value
    if condition.sign == "=" and not isinstance(value, float):
        return models.FieldCondition(key=condition.field, match=models.MatchValue(value=value))
    if isinstance(value, (str, bool)):
        raise InputError(f"Qdrant orders numbers only, and the filter compares {condition.field!r} with text.")
    bounds = dict.fromkeys(_BOUNDS[condition.sign], value)
    return models.FieldCondition(key=condition.field, range=models.Range(**bounds))


@contextmanager
def quick_commits(client: Any, collection: str) -> Iterator[None]:
    """A local folder is SQLite, committed point by point: 15 ms each. Here all points are one transaction.

    So a run that is killed leaves the points as they were. A server commits what it is sent.
    """
    kept = getattr(getattr(client, "_client", None), "collections", {}).get(collection)
    file = getattr(kept, "storage", None)
    storage = getattr(file, "storage", None)
    if file is None or storage is None:
        yield
        return
    file.storage = _OneTransaction(storage)
    try:
        yield
        storage.commit()
    finally:
        file.storage = storage
        storage.rollback()  # of nothing, where all went well


class _OneTransaction:
    """A connection to SQLite whose commits are left to somebody else."""

    def __init__(self, storage: Any) -> None:
        self._storage = storage

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)

    def __enter__(self) -> _OneTransaction:
        return self

    def __exit__(self, *error: object) -> None:
        """The block is over, and the transaction goes on."""

    def commit(self) -> None:
        """Not yet."""
