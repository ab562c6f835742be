"""Texts of links, for people: the titles of both rows, and the ids of the rivals.

They are columns of saved files and of frames beside what is computed with, and no part of equality. Right after linking
they are looked up in the payload when they are asked for; of a file that was loaded they are those that stood there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from veclink.data.titles import clipped, title_column

if TYPE_CHECKING:
    import pyarrow as pa

    from veclink.data.collection import Collection

TEXTS = ("title_a", "title_b", "rival_id_a", "rival_id_b")
"""Columns that hold text, in the order in which they are written."""
Evidence = Mapping[str, np.ndarray]



@dataclass(frozen=True, eq=False)
class PayloadTexts:
    """Texts from the ids and the titles of two collections, each by row; None where a collection has none."""

    ids: tuple[np.ndarray | None, np.ndarray | None] = (None, None)
    titles: tuple[pa.ChunkedArray | None, pa.ChunkedArray | None] = (None, None)

    def of(self, pairs: np.ndarray, evidence: Evidence) -> dict[str, np.ndarray]:
        """Columns (m,) of str for pairs of rows (m, 2) with their evidence: those of `TEXTS` that are known."""
        found = {}
        for side, column in (("a", 0), ("b", 1)):
            titles = self.titles[column]
            if titles is not None:
                found[f"title_{side}"] = _titles(titles, pairs[:, column])
            rivals = evidence.get(f"rival_{side}")
            if rivals is not None:
                found[f"rival_id_{side}"] = _names(rivals, self.ids[column])
        return {name: found[name] for name in TEXTS if name in found}


def texts_of(a: Collection, b: Collection) -> PayloadTexts:
    """The texts of the links between two collections, as far as their payload was read."""
    return PayloadTexts((a.ids, b.ids), (_title_values(a), _title_values(b)))


def _title_values(collection: Collection) -> pa.ChunkedArray | None:
    name = title_column(collection)
    return None if name is None or collection.payload is None else collection.payload.column(name)


def _titles(column: pa.ChunkedArray, rows: np.ndarray) -> np.ndarray:
    found = _blank(len(rows))
    found[:] = ["" if value is None else clipped(str(value)) for value in column.take(rows).to_pylist()]
    return found


def _names(rows: np.ndarray, ids: np.ndarray | None) -> np.ndarray:
    """Ids (m,) of rows, else the rows themselves; empty for −1."""
    found = _blank(len(rows))
    known = rows >= 0
    named: Any = rows[known] if ids is None else ids[rows[known]]
    found[known] = [str(each) for each in named]
    return found


def _blank(n: int) -> np.ndarray:
    return np.full(n, "", dtype=object)
