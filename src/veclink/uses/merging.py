"""merge(): one collection out of two that overlap. Linked objects are there once, the rest of A is translated.

Nothing is written by `merge` itself unless it is told where: what comes back says what would be, and writes it.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from veclink.data.collection import Collection, numbers
from veclink.data.links import Links
from veclink.data.pairs import one_to_one
from veclink.data.words import Tabled, Told
from veclink.errors import InputError, ShuffledPayloadWarning, WrongLinksWarning
from veclink.files.memory import forget_pages
from veclink.geometry.clouds import fitted, prepare
from veclink.progress import Progress, ProgressListener, heard, shows_progress
from veclink.stores import open_store
from veclink.stores.arrow import id_column
from veclink.stores.opening import check_free, open_collection
from veclink.stores.protocol import Batch, Store
from veclink.uses.linked_pairs import GivenLinks, are_calibrated, loaded, pairs_of
from veclink.uses.maps import DEFAULT_MAP
from veclink.uses.merged_rows import AS_THEY_ARE, joined_ids, joined_table, names, payload_misfit, table_beside
from veclink.uses.translating import Source, Translator, check_map, fit_translator, paired_rows

DEFAULT_SURE = 0.95
"""Of those tried on SciFact, the least that hides at most 0.5 % of A (`veclink bench merge-sure`)."""


@dataclass(frozen=True)
class MergeOptions:
    """How two collections are merged; `merge` takes each of these as a keyword.

    Attributes
    ----------
    map : str
        The kind of map that is fitted to the links: "blend", "la2m" (the paper's), "procrustes", "ridge", or "auto",
        the best of them on held-back links.
    translator : Translator, optional
        One that was fitted before, instead.
    union_only : bool
        Translate nothing: A's vectors stay in their own space, filled up with zeros where dimensions differ, and
        `origin` says which is which.
    sure : float, optional
        Links less probable than this fit the map, but do not make two rows one; a wrong one would hide an object. By
        default 0.95; links that somebody chose (`Links.at`, `veclink cut`) all join.
    skip_zero : bool
        Leave out zero vectors of A instead of refusing them.
    random_state : int
        Seed of the random generator.
    force : bool
        Go on where A and B are not the vectors that were linked.
    """

    map: str = DEFAULT_MAP
    translator: Translator | None = None
    union_only: bool = False
    sure: float | None = None
    skip_zero: bool = False
    random_state: int = 0
    force: bool = False

    def __post_init__(self) -> None:
        check_map(self.map)
        if self.sure is not None and not 0 <= self.sure <= 1:
            raise InputError(f"The probability from which on links are sure is {self.sure}; it is between 0 and 1.")


@dataclass(frozen=True)
class MergeSummary(Told):
    """Counts of a merged collection: rows = from_b + translated; linked are those of B that are in A too.

    hidden: how many rows of A are expected to be hidden by a wrong link, Σ(1 − probability) of the links that make two
    rows one; None where all count as certain, or by votes alone. unsure: links that fit the map but join no rows, as
    they are less probable than `sure`. double: how many objects of both are expected to stay as two rows, where that is
    known. copies: rows of A and of B that are copies of other rows of their side. left_out: rows of A without a
    direction. space: "b", or "both" where nothing was translated. ids_of_a: in words, how A's ids are written. warning:
    a sentence where the map is no better than chance; payload_warning: one where titles of linked rows speak against
    the order of the payload.
    """

    rows: int
    from_b: int
    linked: int
    translated: int
    hidden: float | None
    unsure: int
    sure: float
    double: float | None
    copies: tuple[int, int]
    left_out: int
    dimension: int
    space: str
    ids_of_a: str
    warning: str | None = None
    payload_warning: str | None = None

    @property
    def headline(self) -> str:  # type: ignore[override]
        """Rows in words."""
        kind = "as they are" if self.space == "both" else "translated into B's space"
        linked = f"{self.from_b:,} of B, {self.linked:,} of them linked to a row of A"
        return f"{self.rows:,} rows: {linked}, and {self.rows - self.from_b:,} of A {kind}."

    def figures(self) -> list[tuple[str, str]]:
        """What else there is to know of them, by name."""
        told = figures_of_joins(self)
        if self.double:
            told.append(("Objects of both that stay as two rows, estimated", f"{self.double:,.0f}"))
        return [*told, *(("Warning", each) for each in (self.warning, self.payload_warning) if each is not None)]


def figures_of_joins(summary: Any) -> list[tuple[str, str]]:
    """What a merge and an append say of the rows that become one, and of those that do not."""
    told = []
    if summary.ids_of_a != AS_THEY_ARE:
        told.append(("Ids of A that others have", f"written {summary.ids_of_a}; `id_a` holds them as they were"))
    if summary.unsure:
        told.append((f"Links below {summary.sure:g}, not joined", f"{summary.unsure:,}; --probability moves this"))
    if any(summary.copies):
        told.append(("Copies of other rows, each kept as a row", "{:,} of A, {:,} of B".format(*summary.copies)))
    return told


@dataclass(frozen=True, eq=False)
class Merged(Tabled):
    """A merged collection that can be looked at, read in batches, or written.

    Its rows are all of B's in their order, then those of A that no link ties to one of them, in theirs.

    Attributes
    ----------
    a, b : Collection
        What was merged.
    partner, probability : ndarray of shape (n_b,)
        The row of A that is the same object, −1 where there is none; and how probable that is, else NaN.
    alone : ndarray of shape (m,)
        Rows of A that are not in B.
    ids : ndarray of shape (n_b + m,)
        B's as they are, A's made unique among them.
    translator : Translator or None
        None for a plain union.
    summary : MergeSummary
        The counts.
    """

    a: Collection
    b: Collection
    partner: np.ndarray
    probability: np.ndarray
    alone: np.ndarray
    ids: np.ndarray
    translator: Translator | None
    summary: MergeSummary
    _links: str | None  # the fingerprint of the links as they were found

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"Merged({self.summary.headline})"

    def columns(self) -> dict[str, Any]:
        """Every row of A: a (its id or row), b (the same object in B, None where it is new), probability."""
        partner_b = np.full(len(self.a), -1, np.int64)
        linked = np.flatnonzero(self.partner >= 0)
        partner_b[self.partner[linked]] = linked
        ids = names(self.b)
        found = [None if row < 0 else ids[row] for row in partner_b]
        chance = np.where(partner_b < 0, np.nan, self.probability[partner_b])
        return {"a": names(self.a), "b": found, "probability": chance}

    def _repr_html_(self) -> str:
        return self.summary._repr_html_()

    def payload(self, start: int, stop: int) -> pa.Table:
        """What rows start…stop−1 are, see `joined_table`."""
        n_b = len(self.b)
        old, new = np.arange(start, min(stop, n_b)), self.alone[max(start - n_b, 0) : max(stop - n_b, 0)]
        rows_a = np.concatenate([self.partner[old], new])
        rows_b = np.concatenate([old, np.full(len(new), -1)])
        chance = np.concatenate([self.probability[old], np.full(len(new), np.nan)])
        return joined_table(self.a, self.b, rows_a, rows_b, chance)

    def batches(self, *, payload: bool = True, progress: ProgressListener | None = None) -> Iterator[Batch]:
        """All rows, some megabytes at a time; A's are translated as they come."""
        width, n_b = self.summary.dimension, len(self.b)
        dtype = np.dtype(np.float16 if self.b.vectors.dtype == np.float16 else np.float32)
        size = max(1, (8 << 20) // (width * dtype.itemsize))
        began = time.monotonic()
        for start in range(0, max(len(self), 1), size):
            stop = min(start + size, len(self))
            vectors = np.zeros((stop - start, width), dtype)
            here = max(min(stop, n_b) - start, 0)
            if here:
                vectors[:here, : self.b.dimension] = fitted(numbers(self.b, slice(start, start + here)), dtype)
            if stop > n_b:
                new = numbers(self.a, self.alone[max(start - n_b, 0) : stop - n_b])
                new = new if self.translator is None else self.translator.transform(new)
                vectors[here:, : new.shape[1]] = fitted(new, dtype)
            forget_pages(self.a.vectors)
            forget_pages(self.b.vectors)
            yield Batch(vectors, self.ids[start:stop], self.payload(start, stop) if payload else None)
            if progress is not None:
                rate = stop / max(time.monotonic() - began, 1e-9)
                progress(Progress(stop, len(self), self.summary.linked, None, "writing", rows_per_second=rate))

    def write(
        self, to: str | Path | Store, *, replace: bool = False, progress: ProgressListener | None = None
    ) -> int:
        """Write the collection to a file or store, whole or not at all, and say how many rows it has.

        to: a path, a URL, or a store that was opened for writing and stays open. A file that keeps
        ids and vectors only (`X.npy`) has the payload in a table beside it, `X.rows.parquet`.
        """
        if not isinstance(to, Store):
            with open_store(to, write=True) as store:
                return self.write(store, replace=replace, progress=progress)
        about: dict[str, Any] = {"merged": asdict(self.summary), "links": self._links}
        if self.translator is not None:
            about["translator"] = self.translator.describe()
        with to.alone():
            if not replace:
                to.check_free()
            batches = self.batches(payload=to.keeps_payload, progress=progress)
            if to.keeps_payload or to.address.path is None:
                return to.write(batches, metadata=about, replace=replace)

            def part(start: int, stop: int) -> pa.Table:
                return self.payload(start, stop).add_column(0, "id", id_column(self.ids[start:stop]))

            with table_beside(to.address.path, len(self), part, replace=replace):
                return to.write(batches, metadata=about, replace=replace)

    def collection(self) -> Collection:
        """The whole of it in memory."""
        parts = list(self.batches(payload=False))
        vectors = np.concatenate([part.vectors for part in parts])
        return Collection(vectors, self.ids, self.payload(0, len(self)), name="merged")


@shows_progress
def merge(
    a: Source,
    b: Source,
    links: GivenLinks,
    to: str | Path | None = None,
    *,
    payload_a: Any = None,
    payload_b: Any = None,
    replace: bool = False,
    progress: ProgressListener | bool | None = None,
    **options: Any,
) -> Merged:
    """Merge A and B into one collection in B's space, to be searched with B's model.

    Two rows are joined if their link is at least `sure` probable: 0.95 by default, or any probability where the links
    were chosen with `Links.at` or `veclink cut`. Less probable ones stay as two rows: a copy costs less than an object
    lost to a wrong link (`summary.unsure`, `summary.double`). B's vectors stay as they are. A linked
    object keeps B's vector, and both ids and payloads. A's other vectors are translated. Warns if the map is no better
    than chance (`summary.warning`).

    Parameters
    ----------
    a, b : array of shape (n, d), frame, Collection, path or URL
        The two collections.
    links : Links, pairs of shape (m, 2), or path
        Pairs name rows or ids.
    to : path or URL, optional
        Where to write it; without it nothing is written until `Merged.write`.
    payload_a, payload_b : path, frame, mapping or (n,) titles, optional
        Columns of the rows, where the collections do not carry them, in the forms that `open_collection` takes.
    replace : bool
        Whether a collection that is there already may be replaced.
    progress : callable or True, optional
        Called with the progress. True shows it.
    **options
        The fields of `MergeOptions`.
    """
    how = MergeOptions(**options)
    progress = heard(progress)
    links = loaded(links)
    if to is not None and not replace:
        check_free(to)
    left, right = (
        open_collection(side, payload=True if payload is None else payload, progress=progress)
        for side, payload in ((a, payload_a), (b, payload_b))
    )
    pairs, probability = pairs_of(links, left, right, force=how.force)
    cloud = prepare(left, centre=False, skip_zero=how.skip_zero, side="A")
    forget_pages(left.vectors)
    translator = None if how.union_only else how.translator
    if translator is None and not how.union_only:
        paired = paired_rows(pairs, probability, left, right)
        translator = fit_translator(paired, how.map, random_state=how.random_state, progress=progress)
    if translator is not None and translator.dimensions != (left.dimension, right.dimension):
        raise InputError(
            f"The translator takes {translator.dimensions[0]:,} numbers to {translator.dimensions[1]:,}, and A and "
            f"B have {left.dimension:,} and {right.dimension:,}; fit one to these collections."
        )
    chosen = one_to_one(pairs, probability)
    run = links if isinstance(links, Links) else None
    least = how.sure
    if least is None:
        least = 0.0 if run is not None and run.trace.get("chosen") else DEFAULT_SURE
    chosen = chosen[probability[chosen] >= least]
    joined, sure = pairs[chosen], probability[chosen]
    partner, chance = np.full(len(right), -1, np.int64), np.full(len(right), np.nan)
    partner[joined[:, 1]], chance[joined[:, 1]] = joined[:, 0], sure
    alone = np.setdiff1d(cloud.rows, joined[:, 0])  # vectors without a direction go nowhere
    ids, ids_of_a = joined_ids(names(right), names(left)[alone])
    warning = None if translator is None else translator.warning
    can_tell = are_calibrated(links) and bool((sure < 1).any())
    misfit = payload_misfit(left, right, joined, sure)
    summary = MergeSummary(
        rows=len(ids),
        from_b=len(right),
        linked=len(chosen),
        translated=0 if translator is None else len(alone),
        hidden=round(float((1 - chance)[partner >= 0].sum()), 2) if can_tell else None,
        unsure=int((probability < least).sum()),
        sure=least,
        double=None if run is None or not run.summary.overlap else round(max(run.summary.overlap - sure.sum(), 0.0), 1),
        copies=(0, 0) if run is None else run.summary.copies,
        left_out=len(left) - len(joined) - len(alone),
        dimension=max(left.dimension, right.dimension) if translator is None else right.dimension,
        space="both" if translator is None else "b",
        ids_of_a=ids_of_a,
        warning=warning,
        payload_warning=misfit,
    )
    for sentence, kind in ((misfit, ShuffledPayloadWarning), (warning, WrongLinksWarning)):
        if sentence is not None:
            warnings.warn(sentence, kind, stacklevel=2)
    found = run.summary.found if run is not None else None
    merged = Merged(left, right, partner, chance, alone, ids, translator, summary, found)
    if to is not None:
        merged.write(to, replace=replace, progress=progress)
    return merged
