"""Which field of a file holds the vectors, and which the ids."""

from __future__ import annotations

from collections.abc import Sequence

from veclink.errors import InputError, named

_VECTORS = ("vector", "embedding", "vectors", "embeddings")
_IDS = ("id", "ids")


def vector_field(names: Sequence[str], candidates: Sequence[str], name: str) -> str:
    """The field of the vectors: by its name, or else the only one that could be (`candidates`)."""
    for known in _VECTORS:
        if known in names:
            return known
    if len(candidates) == 1:
        return candidates[0]
    raise InputError(
        f"{name} has {len(candidates)} fields that could be the vectors among {named(list(names))}; "
        "call the right one `vector` or `embedding`."
    )


def id_field(names: Sequence[str]) -> str | None:
    """The field of the ids, if there is one."""
    return next((known for known in _IDS if known in names), None)
