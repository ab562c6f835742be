"""Linker: links between two collections that grow. Fitted once, it judges new rows in one pass over the other side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from veclink.backends.cloud_pair import placed_clouds
from veclink.data.collection import Collection
from veclink.data.links import Links
from veclink.data.summary import plain_json
from veclink.errors import InputError
from veclink.geometry.clouds import Cloud, prepare
from veclink.linkers.copies import grouped
from veclink.linkers.linking import Source, link
from veclink.linkers.options import SpanOptions
from veclink.linkers.verdict import NOT_LINKABLE
from veclink.progress import ProgressListener, heard, shows_progress, tell
from veclink.stores.opening import open_collection
from veclink.threads import takes_threads
from veclink.uses.linked_pairs import check_links
from veclink.uses.new_rows import folder
from veclink.uses.new_rows.held import (
    Held,
    check_names,
    check_new,
    check_options,
    check_taken_in,
    ids_file,
    names_fit,
    new_rows,
    opened_side,
    remembered,
    side_of,
    whole_of,
    without_copies,
)
from veclink.uses.new_rows.judging import Judged, judge
from veclink.uses.new_rows.knowledge import SIDES, Knowledge, Part
from veclink.uses.new_rows.learning import learn
from veclink.uses.new_rows.results import as_links, of_batch, taken_in, worth_refitting
from veclink.uses.new_rows.searching import Found, Signatures, search
from veclink.uses.translating import Translator

MAP = "blend"
"""The kind of map that `translate` uses: small, and of all kinds the one whose neighbours agree best with the
partners' where there are more links than dimensions (docs/merging.md)."""
LINKING = ("device", "random_state", "memory", "skip_zero")
"""Options of the fit that the next one has too."""


class Linker:
    """Two linked collections, what new rows are judged by, and all links so far.

    `fit` and `load` make one. It is small: maps, some thousand vectors, and a few numbers for each row. The vectors of
    the collections are not part of it; where one is needed it is held in memory since `fit`, opened again from where it
    was, or given.

    Attributes
    ----------
    links : Links
        Of all rows that are known: those of the fit, then those that `update` took in.
    """

    def __init__(
        self,
        links: Links,
        knowledge: Knowledge,
        translators: tuple[Translator, Translator],
        held: Held,
    ) -> None:
        self.links = links
        self.knowledge = knowledge
        self.translators = translators
        self.held = held
        self._signatures: dict[int, Signatures] = {}

    def __repr__(self) -> str:
        n_a, n_b = self.sizes
        return f"Linker({n_a:,} × {n_b:,} rows, {len(self.links):,} links)"

    @property
    def sizes(self) -> tuple[int, int]:
        """Rows of A and of B that are known."""
        return self.knowledge.sides[0].size, self.knowledge.sides[1].size

    @classmethod
    @shows_progress
    @takes_threads
    def fit(
        cls,
        a: Source,
        b: Source,
        *,
        links: Links | None = None,
        payload_a: Any = None,
        payload_b: Any = None,
        force: bool = False,
        **options: Any,
    ) -> Linker:
        """Link two collections, and learn from the links how new rows are to be judged.

        Parameters
        ----------
        a, b : array of shape (n, d), Collection, path or URL
            The two collections.
        links : Links, optional
            Links between them that were found before: nothing is linked again.
        payload_a, payload_b : path, frame, mapping or (n,) titles, optional
            As for `link`.
        force : bool
            Go on where these are not the vectors that the `links` were found between.
        **options
            What `link` takes: seeds, anchors, device, random_state, memory, threads, progress and so on; of the methods
            "span" alone, and its links one-to-one.
        """
        check_options(options)
        progress = options.get("progress")
        reads = options.get("seeds_by") is not None
        left = open_collection(a, payload=reads if payload_a is None else payload_a, progress=progress)
        right = open_collection(b, payload=reads if payload_b is None else payload_b, progress=progress)
        if links is None:
            links = link(left, right, **options)
        else:
            check_links(links, left, right, force=force)
        if links.summary.verdict == NOT_LINKABLE:
            reasons = " ".join(links.summary.reasons)
            raise InputError(f"The collections do not link, so nothing is known that new rows could follow: {reasons}")
        return cls.learned(links, left, right, (a, b), **options)

    @classmethod
    @takes_threads
    def learned(
        cls,
        links: Links,
        left: Collection,
        right: Collection,
        sources: Sequence[Any] = (None, None),
        **options: Any,
    ) -> Linker:
        """The linker of links that were found between two opened collections.

        sources: what the collections were opened from. options: as those of `fit`.
        """
        random_state = options.get("random_state", 0)
        tell(options.get("progress"), "learning", len(links))
        prepared = prepare(left, skip_zero=True, side="A"), prepare(right, skip_zero=True, side="B")
        groups = grouped(*prepared)
        plain = SpanOptions()
        clouds = placed_clouds(*groups.clouds, "cpu", options.get("memory"), k=plain.k, ridge=plain.ridge)
        knowledge = learn(links, clouds, *groups.clouds, random_state)
        unmarked = replace(links, summary=replace(links.summary, vectors=None))  # which were looked at before
        translators = (
            Translator.fit(unmarked, left, right, map=MAP, check=False, random_state=random_state),
            Translator.fit(unmarked, left, right, map=MAP, check=False, random_state=random_state, reverse=True),
        )
        kept = plain_json({name: value for name, value in options.items() if name in LINKING})
        held = Held([*map(remembered, sources)], ([left], [right]), kept, ids_from=[ids_file(left), ids_file(right)])
        return cls(links, knowledge, translators, held)

    @shows_progress
    @takes_threads
    def match(
        self,
        new: Source,
        *,
        side: str = "a",
        against: Source | None = None,
        skip_zero: bool = False,
        threads: int | None = None,
        progress: ProgressListener | bool | None = None,
    ) -> Links:
        """Links of new rows with the other collection, by what the fit has learned; one row is enough.

        Nothing is fitted, and the linker stays as it is. The share of the new rows that have a partner is estimated
        from the new rows where they are many, and taken from the fit where they are few. A batch that was taken in
        before has the links that it has in the linker now. Copies of rows that are known have no links of their own,
        and are counted.

        Parameters
        ----------
        new : array of shape (m, d), Collection, path or URL
            Rows that are not in the collection of their side yet.
        side : {"a", "b"}
            The side that they are of, whose model made them.
        against : array, Collection, path or URL, optional
            The other collection, as the linker knows it; by default the one in memory, or opened from where it was.
        skip_zero : bool
            Leave out new rows that are zero instead of refusing them.
        threads : int, optional
            Threads on the CPU, as for `link`. The links are the same.
        progress : callable or True, optional
            Hears of every step; True shows them.

        Returns
        -------
        Links
            Of rows of `new` with rows of B (side "a"), or of rows of A with rows of `new` (side "b"). The column
            `displaces` of the evidence names the row that the partner was linked with so far, −1 for none.
            `summary.copies` counts the new rows that are copies of known ones.
        """
        at, progress = side_of(side), heard(progress)
        batch = open_collection(new, payload=False)
        known = self.knows(batch, side=side)
        if known is not None:
            return of_batch(self.links, self.knowledge, at, known)
        entered = new_rows(batch, self.knowledge, at, skip_zero=skip_zero)
        check_new(batch, self.links, at)
        if against is not None:
            self._hold(1 - at, against)
        others = self._others(at, progress)
        rows = without_copies(entered, self.knowledge, at)
        _, judged = self._judged(at, rows, others, progress)
        return as_links(self.links, self.knowledge, at, judged, rows, others.other, len(entered) - len(rows))

    @shows_progress
    @takes_threads
    def update(
        self,
        *,
        new_a: Source | None = None,
        new_b: Source | None = None,
        a: Source | None = None,
        b: Source | None = None,
        refit: bool | str = "auto",
        skip_zero: bool = False,
        threads: int | None = None,
        progress: ProgressListener | bool | None = None,
    ) -> Linker:
        """Take new rows in: they follow the rows that are known, and their links are links of the linker.

        A known link whose row on the other side has found a better partner among the new rows is dropped. The linker
        itself changes, and is given back.

        Parameters
        ----------
        new_a, new_b : array, Collection, path or URL, optional
            New rows of either side, or of both. A batch that was taken in before is not taken in again.
        a, b : array, Collection, path or URL, optional
            The collections without the new rows, where they are neither in memory nor where they were: B for new rows
            of A, A for new rows of B, both to fit again.
        refit : {"auto", True, False}
            Whether all is linked again from the links so far, which needs both collections. "auto" does so once enough
            rows have come since the last fit, if both collections are there.
        skip_zero, threads, progress
            As for `match`.
        """
        if new_a is None and new_b is None:
            raise InputError("There are no new rows; give new_a, new_b or both.")
        if refit not in (True, False, "auto"):
            raise InputError(f"refit is {refit!r}; it is True, False or 'auto'.")
        progress = heard(progress)
        for at, source in enumerate((a, b)):
            if source is not None:
                self._hold(at, source)
        given = [(at, new) for at, new in enumerate((new_a, new_b)) if new is not None]
        batches = [(at, open_collection(new, payload=False)) for at, new in given]
        batches = [(at, batch) for at, batch in batches if self.knows(batch, side=SIDES[at]) is None]
        for at, batch in batches:  # all is checked before anything changes
            new_rows(batch, self.knowledge, at, skip_zero=skip_zero)
            check_taken_in(batch, self.links, self.knowledge, at)
        for at in (0, 1) if refit is True else sorted(1 - at for at, _ in batches):
            if not self.held.parts[at]:
                self._hold(at, whole_of(self.held, at, progress))
        for at, batch in batches:
            self._take_in(at, batch, progress)
        may_refit = bool(batches) and worth_refitting(self.knowledge) and all(self.held.parts)
        if refit is True or (refit == "auto" and may_refit):
            self._refit(progress)
        return self

    @shows_progress
    @takes_threads
    def match_and_update(
        self,
        new: Source,
        *,
        side: str = "a",
        against: Source | None = None,
        skip_zero: bool = False,
        threads: int | None = None,
        progress: ProgressListener | bool | None = None,
    ) -> Links:
        """Take new rows in, and give their links as `match` has them.

        Where `new` was taken in before, nothing changes and the links come out that it has now: what was stopped can be
        run again.
        """
        at = side_of(side)
        new = open_collection(new, payload=False)  # once: it is looked at three times
        if against is not None:
            self._hold(1 - at, against)
        new_a, new_b = (new, None) if at == 0 else (None, new)
        self.update(new_a=new_a, new_b=new_b, skip_zero=skip_zero, progress=progress)
        return self.match(new, side=side)  # what was taken in is known

    def translate(self, x: np.ndarray, *, side: str = "a") -> np.ndarray:
        """Vectors (m, d) of the model of one side as vectors of the other side's model, float32.

        It needs no collection. `side` is where they come from.
        """
        return self.translators[side_of(side)].transform(x)

    def knows(self, new: Source, *, side: str = "a") -> slice | None:
        """The rows that a batch of one side became, where `new` was taken in before; else None."""
        at, batch = side_of(side), open_collection(new, payload=False)
        rows = self.knowledge.sides[at].rows_of(Part.of(batch))
        return rows if rows is not None and names_fit(batch, self.links, at, rows) else None

    def describe(self) -> dict[str, Any]:
        """What is known of the linker as a whole, ready for JSON."""
        return folder.described(self.knowledge, self.held)

    def save(self, path: str | Path) -> None:
        """Write a folder, whole or not at all; it replaces a linker, unless another run changed that after `load`."""
        folder.write(Path(path), self.links, self.knowledge, self.translators, self.held)

    @classmethod
    def load(cls, path: str | Path) -> Linker:
        """The linker that was saved in a folder. The collections are opened when they are needed."""
        return cls(*folder.read(Path(path)))

    def _others(self, side: int, progress: ProgressListener | None) -> Signatures:
        """The rows of the other side."""
        other = 1 - side
        if side not in self._signatures:
            if not self.held.parts[other]:
                self._hold(other, whole_of(self.held, other, progress))
            known = self.knowledge.sides[other]
            cloud = Cloud(whole_of(self.held, other), known.rows, known.mean)
            self._signatures[side] = Signatures(self.knowledge, side, cloud)
        return self._signatures[side]

    def _hold(self, side: int, source: Source) -> None:
        """Use this collection as the one of a side, once it is sure that it is."""
        collection = opened_side(self.held, side, source)
        self.knowledge.sides[side].check(collection, SIDES[side])
        check_names(collection, self.links, side)
        self.held.hold(side, collection, remembered(source))
        self._signatures.pop(1 - side, None)

    def _take_in(self, side: int, batch: Collection, progress: ProgressListener | None) -> None:
        entered = new_rows(batch, self.knowledge, side, skip_zero=True)  # `update` has refused zero vectors
        others = self._others(side, progress)
        rows = without_copies(entered, self.knowledge, side)
        found, judged = self._judged(side, rows, others, progress)
        copies = len(entered) - len(rows)
        self.links, self.knowledge = taken_in(
            self.links, self.knowledge, side, judged, found, rows, others.other, copies
        )
        if self.held.parts[side]:
            self.held.parts[side].append(batch)
        if len(entered) < len(batch):  # the next fit has to leave them out, too
            self.held.options["skip_zero"] = True
        self._signatures.clear()

    def _judged(
        self, side: int, rows: Cloud, signatures: Signatures, progress: ProgressListener | None
    ) -> tuple[Found, Judged]:
        """What was found for new rows of one side, and how probable it is."""
        tell(progress, "matching", len(rows))
        vectors = rows.block(0, len(rows))
        found = search(self.knowledge, side, vectors, signatures)
        return found, judge(self.knowledge, side, vectors, found, signatures.other)

    def _refit(self, progress: ProgressListener | None) -> None:
        """Link all rows again from the links that are known."""
        left, right = (whole_of(self.held, at, progress) for at in (0, 1))
        options = {**self.held.options, "progress": progress}
        links = link(left, right, continued=self.links, **options)
        links = replace(links, summary=replace(links.summary, found=self.links.summary.found))
        parts = [tuple(replace(part, account=None) for part in side.parts) for side in self.knowledge.sides]
        again = self.learned(links, left, right, self.held.sources, **options)
        sides = [replace(side, parts=old) for side, old in zip(again.knowledge.sides, parts, strict=True)]
        self.links = links
        self.knowledge = replace(again.knowledge, sides=(sides[0], sides[1]))
        self.translators = again.translators
        self._signatures.clear()
