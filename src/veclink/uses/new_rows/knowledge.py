"""What a linker keeps of two collections: enough to judge new rows as the rows of the fit were judged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from veclink.backends.cloud_pair import Projections
from veclink.confidence.calibration import Model
from veclink.data.collection import Collection, numbers
from veclink.errors import InputError
from veclink.files.fingerprints import rows_digest
from veclink.files.memory import forget_pages
from veclink.geometry.rows import tiles

SIDES = ("a", "b")
BLOCK = 1024  # rows that are marked at a time


@dataclass(frozen=True)
class Account:
    """What was told of new rows when they were taken in, for whoever asks for their links again."""

    overlap: float  # estimated number of them that have a partner
    copies: int  # how many are copies of rows that were known
    reasons: tuple[str, ...]  # sentences


@dataclass(frozen=True)
class Part:
    """Rows that came together: how many, and the fingerprint of all their vectors.

    account: what was told of them; None for the rows of a fit.
    """

    rows: int
    fingerprint: str
    account: Account | None = field(default=None, compare=False)

    @classmethod
    def of(cls, collection: Collection) -> Part:
        """All rows of a collection."""
        return cls(len(collection), rows_digest(collection.vectors))


@dataclass(frozen=True, eq=False)
class KnownSide:
    """What is kept of the n rows of one side that take part: all but copies and zero vectors."""

    parts: tuple[Part, ...]  # the rows of the collection in the order in which they came
    mean: np.ndarray  # (d,) what is subtracted from unit vectors
    rows: np.ndarray  # (n,) the row of the collection that each of them is, ascending
    fold: np.ndarray  # (n,) the map that was fitted without the row's link; −1 where all were
    density: np.ndarray  # (n, f) mean similarity to the nearest rows of the other side, under each of the f maps
    crowding: np.ndarray  # (n,) standardised density of the row's own side around it
    # (n, 3) its best partners among the other side's rows here, and their scores; −1 where there are fewer
    rivals: np.ndarray
    rival_scores: np.ndarray
    # (n, 2) of large sides: 1 / (|x|·c·s) and 1 / (c·s), with c the length of the centred unit row and s that of its
    # signature. Empty where the other rows are projected
    scales: np.ndarray
    backdrop: np.ndarray  # (s, d) a sample of its rows, centred and of unit length
    crowding_scale: np.ndarray  # (2,) mean and spread of the density of the own side
    # (size,) what tells each row of the collection from others (`marks_of`); empty in linkers of 0.2
    marks: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def size(self) -> int:
        """Rows of the collection."""
        return sum(part.rows for part in self.parts)

    def rows_of(self, batch: Part) -> slice | None:
        """The rows that a batch became, where it was taken in after the fit; else None."""
        stop = self.size
        for part in reversed(self.parts[1:]):
            if part == batch:
                return slice(stop - part.rows, stop)
            stop -= part.rows
        return None

    def account_of(self, rows: slice) -> Account | None:
        """What was told of the batch that became these rows, where that is known."""
        start = 0
        for part in self.parts:
            if slice(start, start + part.rows) == rows:
                return part.account
            start += part.rows
        return None

    def check(self, collection: Collection, side: str) -> None:
        """Refuse a collection that does not hold the known rows in their order, and no others."""
        dimension = len(self.mean)
        if collection.dimension != dimension:
            raise InputError(
                f"{collection.name} has vectors of {collection.dimension:,} numbers, and side {side.upper()} of the "
                f"linker {dimension:,}; give the collection of that side."
            )
        if len(collection) != self.size:
            more = len(collection) > self.size
            new = "take its new rows in (update, or veclink match --update), or fit again"
            old = "give it with the rows that were taken in, in that order (--against), or fit again"
            raise InputError(
                f"{collection.name} has {len(collection):,} rows, and the linker knows {self.size:,} of side "
                f"{side.upper()}; {new if more else old}."
            )
        start = 0
        for part in self.parts:
            rows = collection.vectors[start : start + part.rows]
            if rows_digest(rows) != part.fingerprint:
                raise InputError(
                    f"Rows {start:,} to {start + part.rows - 1:,} of {collection.name} are not those that the linker "
                    f"was fitted to; give side {side.upper()} as it was, in the same order, or fit again."
                )
            start += part.rows


def marks_of(collection: Collection) -> np.ndarray:
    """A number for each row (n,) uint64, equal where all its numbers are."""
    weights = np.random.default_rng(0).integers(1, 2**63, collection.dimension, np.uint64) | np.uint64(1)
    marks = np.empty(len(collection), np.uint64)
    for start, stop in tiles(len(collection), BLOCK):
        rows = numbers(collection, slice(start, stop)).astype(np.float32, order="C") + np.float32(0)  # no -0
        marks[start:stop] = (rows.view(np.uint32) * weights).sum(axis=1, dtype=np.uint64)
        forget_pages(collection.vectors)
    return marks


@dataclass(frozen=True, eq=False)
class Nearby:
    """Links that new pairs are compared with."""

    rows: np.ndarray  # (m, 2) their places among the known rows of both sides
    left: np.ndarray  # (m, d1) the vectors of those of A, centred and of unit length
    right: np.ndarray  # (m, d2) of B

    def vectors(self, side: int) -> np.ndarray:
        """Those of one side."""
        return self.right if side else self.left


@dataclass(frozen=True, eq=False)
class Knowledge:
    """All that new rows are judged by."""

    sides: tuple[KnownSide, KnownSide]
    maps: list[Projections]  # one for each fold of the links
    whole: Projections | None  # the map that large collections are searched along
    nearby: Nearby
    model: Model  # from evidence to log odds
    k: int  # neighbours that a density is the mean over
    overlap: float  # estimated number of shared objects at the fit
    fitted_sizes: tuple[int, int]  # rows of A and of B at the last fit

    def shared_share(self, side: int) -> float:
        """Estimated share of the rows of one side that have a partner, from the fit."""
        return float(np.clip(self.overlap / self.fitted_sizes[side], 0.02, 0.98))


def model_of(values: dict[str, Any]) -> Model:
    """The model that `Model.plain` gave; its decoys are not kept."""
    weights, centre, scale = (np.array(values[name], float) for name in ("weights", "centre", "scale"))
    features = tuple(map(str, values["features"]))
    if not len(features) == len(weights) == len(centre) == len(scale) or not (scale > 0).all():
        raise ValueError("the model has not one weight for each feature")
    return Model(
        features,
        float(values["base"]),
        weights,
        centre,
        scale,
        decoy_probability=np.empty(0),
        decoy_weight=np.empty(0),
    )
