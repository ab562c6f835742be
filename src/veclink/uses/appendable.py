"""Whether rows can be appended to a merged collection: by this linker, and to this store as it is now."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from veclink.data.links import Links
from veclink.errors import InputError
from veclink.stores import open_store

BY_CHANCE = 0.05
"""Links of other collections, or by other ids, have less than this share in common with what was merged: a choice."""


def check_sure(sure: float) -> None:
    """Refuse what is no probability."""
    if not 0 <= sure <= 1:
        raise InputError(f"The probability from which on links are sure is {sure}; it is between 0 and 1.")


def looked_at(to: str | Path) -> tuple[dict[str, Any], str]:
    """What the store of a merged collection says of itself, and its state; refused where it cannot be replaced."""
    if not isinstance(to, (str, Path)):
        kind = type(to).__name__
        raise InputError(f"The merged collection is given as a {kind}; give its path or URL, where it is replaced.")
    with open_store(to) as store:
        if not store.replaceable:
            raise InputError(f"{store.name} cannot be replaced as a whole; merge to another kind of store.")
        return store.metadata(), store.state()


def check_named_alike(links: Links, table: Any, other: str) -> None:
    """Refuse links that name rows of the other side by number where the merged collection has ids of it."""
    ids = links.ids_a if other == "a" else links.ids_b
    if ids is None and len(links) and str(table.column(f"id_{other}").type) == "string":
        raise InputError(
            f"The linker knows the rows of {other.upper()} by their numbers, and the merged collection by ids; link "
            f"and save the linker with these ids, or give {other.upper()} with them (against=, --against)."
        )


def check_of_these(links: Links, table: Any) -> None:
    """Refuse a linker whose links are none of those that join the rows of the merged collection, but by chance."""
    names = (table.column(name).to_pylist() for name in ("id_a", "id_b"))
    joined = {(str(x), str(y)) for x, y in zip(*names, strict=True) if x is not None and y is not None}
    same = joined.intersection(zip(names_of(links, 0), names_of(links, 1), strict=True))
    if len(same) < BY_CHANCE * min(len(links), len(joined)):
        raise InputError(
            "The linker's links are not those of the merged collection: it is the linker of other collections, or "
            "knows their rows by other ids; link what was merged, with the ids that it was merged by."
        )


def names_of(links: Links, side: int) -> np.ndarray:
    """The ids of one side of each link, as text; row numbers where it has none."""
    ids = links.ids_a if side == 0 else links.ids_b
    values = links.pairs[:, side] if ids is None else ids
    return np.array([str(each) for each in values.tolist()] + [None], object)[:-1]
