"""Which field of a file or a store holds the vectors, and which the ids."""

from __future__ import annotations

from collections.abc import Sequence

from veclink.errors import InputError, named

_VECTORS = ("vector", "embedding", "vectors", "embeddings")
IDS = ("id", "ids")


def vector_field(names: Sequence[str], candidates: Sequence[str], name: str) -> str:
    """The field of the vectors: by its name, or else the only one that could be (`candidates`)."""
    for known in _VECTORS:
        if known in names:
            return known
    if len(candidates) == 1:
        return candidates[0]
    _check_any(candidates, names, name)
    raise InputError(
        f"{name} has {len(candidates)} fields that could be the vectors among {named(list(names))}; "
        "call the right one `vector` or `embedding`."
    )


def id_field(names: Sequence[str]) -> str | None:
    """The field of the ids, if there is one."""
    return next((known for known in IDS if known in names), None)


def choose_vector(wanted: str | None, names: Sequence[str], candidates: Sequence[str], name: str) -> str:
    """The field of the vectors in a store: the one that the URL names, the only one, or else a usual name."""
    _check_any(candidates, names, name)
    if wanted is not None:
        if wanted not in candidates:
            raise InputError(f"{name} has no vectors in {wanted!r}; it has some in {named(list(candidates))}.")
        return wanted
    if len(candidates) == 1:
        return candidates[0]
    usual = [known for known in _VECTORS if known in candidates]
    if len(usual) == 1:
        return usual[0]
    raise InputError(
        f"{name} has {len(candidates)} fields that could be the vectors, {named(list(candidates))}, among "
        f"{named(list(names))}; name one: ?vector=…"
    )


def choose_id(wanted: str | None, names: Sequence[str], name: str) -> str | None:
    """The field of the ids in a store: the one that the URL names, or one with a usual name, or None."""
    if wanted is not None and wanted not in names:
        raise InputError(f"{name} has no field {wanted!r} for its ids; it has {named(list(names)) or 'none'}.")
    return wanted or id_field(names)


def _check_any(candidates: Sequence[str], names: Sequence[str], name: str) -> None:
    if not candidates:
        held = f"its fields are {named(list(names))}" if names else "it has no fields"
        raise InputError(f"{name} holds no vectors: {held}, and none is a list of numbers; is it the right table?")
