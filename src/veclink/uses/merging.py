"""merge(): one collection out of two that overlap. Linked objects are there once, the rest of A is translated.

Nothing is written by `merge` itself unless it is told where: what comes back says what would be, and writes it.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from veclink.data.collection import Collection, numbers
from veclink.data.links import Links
from veclink.data.pairs import one_to_one
from veclink.errors import InputError, WrongLinksWarning
from veclink.files.memory_maps import forget_pages
from veclink.geometry.clouds import Cloud, prepare
from veclink.geometry.magnitudes import fitted
from veclink.progress import Progress, ProgressListener
from veclink.stores import open_store
from veclink.stores.opening import open_collection
from veclink.uses.maps import DEFAULT_KIND, KINDS
from veclink.uses.merged_rows import MergedRows, names
from veclink.uses.translated import Workspace, fingerprint
from veclink.uses.translating import Source, Translator, pairs_of

if TYPE_CHECKING:
    from veclink.stores.protocol import Batch, Store

BATCH_BYTES = 8 << 20


@dataclass(frozen=True)
class MergeSummary:
    """Counts of a merged collection: rows = from_b + translated; linked are those of B that are in A too.

    unsure: links that helped to fit the map but were too improbable to make two rows one. left_out: rows of A without a
    direction. space: "b", or "both" where nothing was translated. ids_of_a: in words, how A's ids are written.
    warning: a sentence where the map is no better than chance.
    """

    rows: int
    from_b: int
    linked: int
    translated: int
    unsure: int
    left_out: int
    dimension: int
    space: str
    ids_of_a: str
    warning: str | None = None


@dataclass(frozen=True, eq=False)
class Merged:
    """A merged collection that can be looked at, read in batches, or written.

    rows: what each row is. translator: None for a plain union. summary: the counts.
    """

    rows: MergedRows
    translator: Translator | None
    summary: MergeSummary
    _cloud: Cloud
    _workspace: Workspace

    def duplicates(self) -> dict[str, np.ndarray]:
        """Every row of A as columns: a (its id or row), b (the same object in B, None where it is new), probability."""
        partner_b = np.full(len(self.rows.a), -1, np.int64)
        linked = np.flatnonzero(self.rows.partner >= 0)
        partner_b[self.rows.partner[linked]] = linked
        ids = names(self.rows.b)
        found = np.empty(len(partner_b), object)
        found[:] = [None if row < 0 else ids[row] for row in partner_b]
        chance = np.where(partner_b < 0, np.nan, self.rows.probability[partner_b])
        return {"a": names(self.rows.a), "b": found, "probability": chance}

    def batches(self, *, payload: bool = True, progress: ProgressListener | None = None) -> Iterator[Batch]:
        """All rows, some megabytes at a time; A's are translated as they come."""
        return self._batches(_AsTheyGo(self.rows.a, self.rows.alone, self.translator), payload, progress)

    def _batches(self, new: Any, payload: bool, progress: ProgressListener | None) -> Iterator[Batch]:
        from veclink.stores.protocol import Batch

        rows, dtype, width = self.rows, self._dtype(), self.summary.dimension
        size = max(1, BATCH_BYTES // (width * dtype.itemsize))
        began = time.monotonic()
        for start in range(0, max(len(rows), 1), size):
            stop, n_b = min(start + size, len(rows)), len(rows.b)
            vectors = np.zeros((stop - start, width), dtype)
            here = min(stop, n_b) - start
            if here > 0:
                vectors[:here, : rows.b.dimension] = fitted(numbers(rows.b, slice(start, start + here)), dtype)
            if stop > n_b:
                more = np.asarray(new[max(start - n_b, 0) : stop - n_b])
                vectors[max(here, 0) :, : more.shape[1]] = fitted(more, dtype)
                forget_pages(new if isinstance(new, np.ndarray) else rows.a.vectors)
            forget_pages(rows.b.vectors)
            yield Batch(vectors, rows.ids[start:stop], rows.payload(start, stop) if payload else None)
            if progress is not None:
                rate = stop / max(time.monotonic() - began, 1e-9)
                progress(Progress(stop, len(rows), self.summary.linked, None, "writing", rows_per_second=rate))

    def write(self, to: str | Path, *, replace: bool = False, progress: ProgressListener | None = None) -> int:
        """Write the collection to a file or store, whole or not at all, and say how many rows it has.

        A run that was killed is taken up again by the same call: rows that were translated are not translated again.
        Stores that keep ids and vectors only get those.
        """
        try:
            with open_store(to, write=True) as store:
                written = self._write(store, replace, progress)
            self._workspace.remove()
        finally:
            self._workspace.release()
        return written

    def _write(self, store: Store, replace: bool, progress: ProgressListener | None) -> int:
        if not replace and store.exists():
            raise InputError(
                f"{store.name} is there already; choose another name, or replace it (replace=True, --replace)."
            )
        about = {"merged": asdict(self.summary)}
        if self.translator is not None:
            about["translator"] = self.translator.describe()
            self._workspace.keep(self.translator)
            positions = self._cloud.positions(self.rows.alone)
            new: Any = self._workspace.translate(self._cloud, positions, self.translator, self._dtype(), progress)
        else:
            new = _AsTheyGo(self.rows.a, self.rows.alone, None)
        batches = self._batches(new, store.keeps_payload, progress)
        return store.write(batches, metadata=about, replace=replace)

    def collection(self) -> Collection:
        """The whole of it in memory."""
        parts = list(self.batches())
        arrow_tables = [part.payload for part in parts if part.payload is not None]
        import pyarrow as arrow

        table = arrow.concat_tables(arrow_tables)
        return Collection(np.concatenate([part.vectors for part in parts]), self.rows.ids, table, name="merged")

    def _dtype(self) -> np.dtype:
        return np.dtype(np.float16 if self.rows.b.vectors.dtype == np.float16 else np.float32)


def merge(
    a: Source,
    b: Source,
    links: Links | np.ndarray | str | Path,
    to: str | Path | None = None,
    *,
    map: str = DEFAULT_KIND,
    translator: Translator | None = None,
    union_only: bool = False,
    sure: float = 0.5,
    skip_zero: bool = False,
    replace: bool = False,
    random_state: int = 0,
    progress: ProgressListener | None = None,
) -> Merged:
    """The collection that holds all objects of A and B once, in B's space, to be queried with B's model.

    links: `Links`, pairs of rows or ids, or a file. B's vectors stay as they are, a linked object keeps B's vector and
    both ids and payloads, and A's other vectors are translated: by `translator`, or by one fitted to the links with
    `map` ("la2m", "procrustes", "ridge", "lowrank", "blend", or "auto": the best of them on held-back links). With
    `union_only` nothing is translated: A's vectors stay in their own space, filled up with zeros where dimensions
    differ, and `origin` says which is which. A map that is no better than chance is warned of (`summary.warning`).
    sure: links less probable than this fit the map, but do not make two rows one; a wrong one would hide an object.
    to: where to write it; without it nothing is written until `Merged.write`.
    """
    if map not in ("auto", *KINDS):
        raise InputError(f"The map {map!r} is unknown; it is auto or one of {', '.join(KINDS)}.")
    if not 0 <= sure <= 1:
        raise InputError(f"The probability from which on links are sure is {sure}; it is between 0 and 1.")
    left, right = (open_collection(side, progress=progress) for side in (a, b))
    pairs, probability = pairs_of(links, left, right)
    cloud = prepare(left, centre=False, skip_zero=skip_zero, side="A")
    forget_pages(left.vectors)
    options = {"map": map, "union": union_only, "sure": sure, "state": random_state}
    if translator is not None:
        options["translator"] = str(translator.describe())
    workspace = Workspace(fingerprint(left, right, pairs, probability, options))
    if union_only:
        translator = None
    elif translator is None:
        translator = workspace.translator()
        if translator is None:
            translator = Translator.fit(
                _usable(pairs, probability, left, right, cloud), left, right,
                kind=map, random_state=random_state, progress=progress,
            )  # fmt: skip
    if translator is not None and translator.dimensions != (left.dimension, right.dimension):
        raise InputError(
            f"The translator takes {translator.dimensions[0]:,} numbers to {translator.dimensions[1]:,}, and A and B "
            f"have {left.dimension:,} and {right.dimension:,}; fit one to these collections."
        )
    chosen = one_to_one(pairs, probability)
    chosen = chosen[probability[chosen] >= sure]
    left_out = np.setdiff1d(np.arange(len(left)), cloud.rows)
    rows = MergedRows.of(left, right, pairs[chosen], probability[chosen], left_out)
    summary = MergeSummary(
        rows=len(rows),
        from_b=len(right),
        linked=len(chosen),
        translated=0 if union_only else len(rows.alone),
        unsure=int((probability < sure).sum()),
        left_out=len(np.setdiff1d(left_out, pairs[chosen, 0])),
        dimension=max(left.dimension, right.dimension) if union_only else right.dimension,
        space="both" if union_only else "b",
        ids_of_a=rows.ids_of_a,
        warning=None if translator is None else translator.warning,
    )
    if summary.warning is not None:
        warnings.warn(summary.warning, WrongLinksWarning, stacklevel=2)
    merged = Merged(rows, translator, summary, cloud, workspace)
    if to is not None:
        merged.write(to, replace=replace, progress=progress)
    return merged


def _usable(pairs: np.ndarray, probability: np.ndarray, a: Collection, b: Collection, cloud: Cloud) -> Links:
    """The links whose vectors have a direction, as the translator takes them."""
    from veclink.data.links import Summary

    held = np.isin(pairs[:, 0], cloud.rows)
    linked_b = np.unique(pairs[:, 1])
    held &= ~np.isin(pairs[:, 1], linked_b[~np.asarray(b.vectors[linked_b]).any(axis=1)])
    summary = Summary(method="given", n_a=len(a), n_b=len(b), n_links=int(held.sum()))
    return Links(pairs[held], probability[held], summary)


class _AsTheyGo:
    """Some rows of a collection, read a slice at a time, and translated if there is a translator."""

    def __init__(self, collection: Collection, rows: np.ndarray, translator: Translator | None) -> None:
        self._collection, self._rows, self._translator = collection, rows, translator

    def __getitem__(self, where: slice) -> np.ndarray:
        rows = numbers(self._collection, self._rows[where])
        return rows if self._translator is None else self._translator.transform(rows)
