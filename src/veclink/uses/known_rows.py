"""What a linker keeps of two collections: enough to judge new rows as the rows of the fit were judged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from veclink.backends import CloudPair, Projections
from veclink.confidence.calibration import Model, calibrate
from veclink.confidence.candidates import Candidates, CrossFit, crossfit, scored_candidates
from veclink.confidence.evidence import neighbourhood_features
from veclink.data.collection import Collection, numbers, rows_digest
from veclink.data.links import Links
from veclink.errors import InputError, plural
from veclink.files.memory import forget_pages
from veclink.geometry.arrays import tiles
from veclink.geometry.clouds import NO_DIRECTION, Cloud
from veclink.geometry.nearest import DENSITY_NEAREST, EXCLUDED, largest_values
from veclink.linkers.span.constants import MIN_POOL
from veclink.linkers.span.linker import anchor_weights, fitted_links, folds_of_known, likely_links, nearby_links
from veclink.threads import multiply
from veclink.uses.linked_pairs import places_of

SIDES = ("a", "b")
BLOCK = 1024  # rows that are looked at at a time


def side_of(side: str) -> int:
    """0 for "a", 1 for "b"."""
    if side not in SIDES:
        raise InputError(f"The side is {side!r}; it is 'a' or 'b'.")
    return SIDES.index(side)


@dataclass(frozen=True)
class Part:
    """Rows that came together: how many, and the fingerprint of all their vectors.

    account: what was told of new rows when they were taken in, for whoever asks for their links again: `overlap`, the
    estimated number of them that have a partner; `copies`, how many are copies of rows that were known; `reasons` and
    `why`. None for the rows of a fit.
    """

    rows: int
    fingerprint: str
    account: dict[str, Any] | None = field(default=None, compare=False)

    @classmethod
    def of(cls, collection: Collection, account: dict[str, Any] | None = None) -> Part:
        """All rows of a collection."""
        return cls(len(collection), rows_digest(collection.vectors), account)


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

    def batches(self) -> list[tuple[Part, slice]]:
        """The parts, and the rows of the collection that each of them became."""
        stops = np.cumsum([part.rows for part in self.parts]).tolist()
        return [(part, slice(stop - part.rows, stop)) for part, stop in zip(self.parts, stops, strict=True)]

    def crowded(self, rows: np.ndarray) -> np.ndarray:
        """How crowded the side is around new rows (m, d), on the scale of `crowding`."""
        return (_crowding(rows, self.backdrop) - self.crowding_scale[0]) / self.crowding_scale[1]

    def check(self, collection: Collection, side: str) -> None:
        """Refuse a collection that does not hold the known rows in their order, and no others."""
        if collection.dimension != len(self.mean):
            raise InputError(
                f"{collection.name} has vectors of {collection.dimension:,} numbers, and side {side} of the linker "
                f"{len(self.mean):,}; give the collection of that side."
            )
        if len(collection) != self.size:
            raise InputError(
                f"{collection.name} has {len(collection):,} rows, and the linker knows {self.size:,} of side {side}; "
                "give it with the rows that were taken in, in that order (--against), take its new rows in (update, or "
                "veclink match --update), or fit again."
            )
        for part, rows in self.batches():
            if rows_digest(collection.vectors[rows]) != part.fingerprint:
                raise InputError(
                    f"Rows {rows.start:,} to {rows.stop - 1:,} of {collection.name} are not those that the linker "
                    f"was fitted to; give side {side} as it was, in the same order, or fit again."
                )


@dataclass(frozen=True, eq=False)
class Knowledge:
    """All that new rows are judged by."""

    sides: tuple[KnownSide, KnownSide]
    maps: list[Projections]  # one for each fold of the links
    whole: Projections | None  # the map that large collections are searched along
    nearby: np.ndarray  # (m, 2) links that new pairs are compared with, as places among the known rows of both sides
    vectors: tuple[np.ndarray, np.ndarray]  # (m, d1) and (m, d2) of those links, centred and of unit length
    model: Model  # from evidence to log odds
    k: int  # neighbours that a density is the mean over
    overlap: float  # estimated number of shared objects at the fit
    fitted_sizes: tuple[int, int]  # rows of A and of B at the last fit

    def shared_share(self, side: int) -> float:
        """Estimated share of the rows of one side that have a partner, from the fit."""
        return float(np.clip(self.overlap / self.fitted_sizes[side], 0.02, 0.98))


def learn(links: Links, clouds: CloudPair, a: Cloud, b: Cloud, random_state: int = 0) -> Knowledge:
    """What new rows are judged by.

    Parameters
    ----------
    links : Links
        Found between the two collections, with all judged pairs where they are known.
    clouds : CloudPair
        Of the two clouds.
    a, b : Cloud
        Centred, without copies.
    random_state : int
        Draws the folds and the samples.
    """
    rng = np.random.default_rng(random_state)
    judged = links.considered
    pool = places_of(judged.pairs, a, b)
    there = (pool >= 0).all(axis=1)  # copies and zero vectors are not
    for column in pool.T:  # of several pairs of a row the surest
        there &= np.isin(np.arange(len(pool)), np.unique(column, return_index=True)[1])
    pool, probability = pool[there], judged.probability[there]
    if len(pool) < MIN_POOL:
        raise InputError(f"There are {plural(len(pool), 'link')}; a linker for new rows needs at least {MIN_POOL}.")
    # Centring anew on likely links, which helps to find them, was tried for new rows on clouds with another domain in
    # B: as good where that is half of B, and 5 to 6 points of F1 worse where it is two thirds.
    weights, folds = anchor_weights(probability), folds_of_known(pool)
    fit = crossfit(clouds, pool, rng, weights=weights, folds=folds)
    found = fit.candidates  # with what is known of new rows too: the score under all maps together
    candidates = scored_candidates(clouds, found.rows_a, found.rows_b, found.score, fit.densities)
    fitted = fitted_links(candidates, rng)
    nearby = nearby_links(likely_links(pool, probability), rng)
    features = neighbourhood_features(clouds, candidates, nearby, rng, fitted)
    calibrated = calibrate(candidates, features, fitted, k=clouds.k, runners_up=False)
    if calibrated.model is None:
        raise InputError(f"There are {plural(len(pool), 'link')}, too few to judge new rows by; link more rows first.")
    nearby = nearby[:1024]  # those that are kept with their vectors: as many as linking itself looks at
    left, right = clouds.vectors(nearby)
    return Knowledge(
        sides=(_known(fit, candidates, a, 0, rng), _known(fit, candidates, b, 1, rng)),
        maps=[(_half(of_a), _half(of_b)) for of_a, of_b in fit.maps],
        whole=None if fit.whole is None else (_half(fit.whole[0]), _half(fit.whole[1])),
        nearby=nearby,
        vectors=(_half(left), _half(right)),
        model=calibrated.model,
        k=clouds.k,
        overlap=calibrated.overlap,
        fitted_sizes=(len(a), len(b)),
    )


def _half(values: np.ndarray) -> np.ndarray:
    """As float16 has it, in float32: what is saved and what is used are the same."""
    return np.asarray(values, np.float32).astype(np.float16).astype(np.float32)


def _known(fit: CrossFit, candidates: Candidates, cloud: Cloud, side: int, rng: np.random.Generator) -> KnownSide:
    """The state of one side after a fit."""
    n = len(cloud)
    sample = np.sort(rng.permutation(n)[:2048])
    backdrop, place = _half(cloud.take(sample)), np.full(n, -1)
    place[sample] = np.arange(len(sample))
    blocks = (_crowding(cloud.block(*tile), backdrop, place[slice(*tile)]) for tile in tiles(n, BLOCK))
    crowded = np.concatenate([*blocks], dtype=np.float32)
    scale = np.array([crowded.mean(), max(float(crowded.std()), 1e-9)])
    best = (candidates.best_a, candidates.best_b)[side]
    partners = (candidates.rows_b, candidates.rows_a)[side]
    maps = fit.densities[:1] if fit.whole is not None else fit.densities  # of large clouds all maps share those
    assert cloud.mean is not None  # linkers for new rows are fitted to centred clouds
    return KnownSide(
        parts=(Part.of(cloud.collection),),
        mean=cloud.mean,
        rows=cloud.rows,
        fold=fit.folds[side].astype(np.int8),
        density=np.stack([each[side] for each in maps], axis=1).astype(np.float32),
        crowding=((crowded - scale[0]) / scale[1]).astype(np.float32),
        rivals=np.where(best >= 0, partners[best], -1).astype(np.int32),
        rival_scores=candidates.scores(best).astype(np.float32),
        scales=scales_of(cloud, None if fit.whole is None else _half(fit.whole[side])),
        backdrop=backdrop,
        crowding_scale=scale,
        marks=marks_of(cloud.collection),
    )


def _crowding(rows: np.ndarray, backdrop: np.ndarray, own: np.ndarray | None = None) -> np.ndarray:
    """Mean similarity of rows (n, d) to the nearest rows of a sample (s, d), without themselves: (n,) float32.

    own: (n,) place of each row in the sample, −1 where it is not in it.
    """
    near = multiply(rows, backdrop.T)
    if own is not None:
        inside = np.flatnonzero(own >= 0)
        near[inside, own[inside]] = EXCLUDED
    return largest_values(near, min(DENSITY_NEAREST, near.shape[1] - 1)).mean(axis=1)


def scales_of(cloud: Cloud, projection: np.ndarray | None) -> np.ndarray:
    """`KnownSide.scales` of the rows of a cloud under a projection (d, r); empty where there is none."""
    if projection is None:
        return np.empty((0, 2), np.float32)
    scales = np.empty((len(cloud), 2), np.float32)
    plain = Cloud(cloud.collection, cloud.rows)

    def lengths(rows: np.ndarray) -> np.ndarray:
        return np.sqrt(np.einsum("ij,ij->i", rows, rows))

    for start, stop in tiles(len(cloud), BLOCK):
        length = lengths(source_rows(cloud, start, stop).astype(np.float32))
        centred = np.maximum(lengths(plain.block(start, stop) - cloud.mean), NO_DIRECTION)
        signature = np.maximum(lengths(multiply(cloud.block(start, stop), projection)), 1e-12)
        scales[start:stop, 1] = 1 / (centred * signature)
        scales[start:stop, 0] = scales[start:stop, 1] / np.maximum(length, 1e-30)
    return scales


def source_rows(cloud: Cloud, start: int, stop: int) -> np.ndarray:
    """Rows `start` to `stop` of a cloud as the collection has them: not of unit length, not centred."""
    collection = cloud.collection
    where: slice | np.ndarray = slice(start, stop) if cloud.whole else cloud.rows[start:stop]
    plain = collection.scale is None and collection.vectors.dtype.itemsize in (2, 4)
    return collection.vectors[where] if plain else numbers(collection, where)


def marks_of(collection: Collection) -> np.ndarray:
    """A number for each row (n,) uint64, equal where all its numbers are."""
    weights = np.random.default_rng(0).integers(1, 2**63, collection.dimension, np.uint64) | np.uint64(1)
    marks = np.empty(len(collection), np.uint64)
    for start, stop in tiles(len(collection), BLOCK):
        rows = numbers(collection, slice(start, stop)).astype(np.float32, order="C") + np.float32(0)  # no -0
        marks[start:stop] = (rows.view(np.uint32) * weights).sum(axis=1, dtype=np.uint64)
        forget_pages(collection.vectors)
    return marks
