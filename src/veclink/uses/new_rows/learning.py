"""Learning: from links between two clouds to what new rows are judged by."""

from __future__ import annotations

import numpy as np

from veclink.backends.cloud_pair import CloudPair
from veclink.confidence.calibration import calibrate
from veclink.confidence.candidates import Candidates, CrossFit, crossfit, scored_candidates
from veclink.confidence.evidence import neighbourhood_features
from veclink.data.collection import numbers
from veclink.data.links import Links
from veclink.data.pairs import lookup
from veclink.errors import InputError, plural
from veclink.geometry.clouds import NO_DIRECTION, Cloud
from veclink.geometry.nearest import EXCLUDED, largest_values
from veclink.geometry.neighbourhoods import DENSITY_NEAREST
from veclink.geometry.rows import tiles
from veclink.linkers.span import scoring
from veclink.linkers.span.constants import MIN_POOL
from veclink.threads import multiply
from veclink.uses.new_rows.knowledge import Knowledge, KnownSide, Nearby, Part, marks_of

BACKDROP_ROWS = 2048
"""Rows of each side that are kept as a sample of it: how crowded the place of a new row is, is measured among them."""
NEARBY_ANCHORS = 1024
"""Links that are kept with their vectors, as neighbours of new pairs: as many as linking itself looks at."""
BLOCK = 1024


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
    pool, probability = pool_of(links, a, b)
    # Centring anew on likely links, which helps to find them, was tried for new rows on clouds with another domain in
    # B: as good where that is half of B, and 5 to 6 points of F1 worse where it is two thirds.
    fit = crossfit(
        clouds,
        pool,
        rng,
        weights=scoring.anchor_weights(probability),
        folds=scoring.folds_of_known(pool),
    )
    found = fit.candidates  # with what is known of new rows too: the score under all maps together
    candidates = scored_candidates(clouds, found.rows_a, found.rows_b, found.score, fit.densities)
    fitted = scoring.fitted_links(candidates, rng)
    likely = scoring.likely_links(pool, probability)
    nearby = scoring.nearby_links(likely, rng)
    features = neighbourhood_features(clouds, candidates, nearby, rng, fitted)
    calibrated = calibrate(candidates, features, fitted, k=clouds.k, runners_up=False)
    if calibrated.model is None:
        raise InputError(f"There are {plural(len(pool), 'link')}, too few to judge new rows by; link more rows first.")
    kept = nearby[:NEARBY_ANCHORS]
    left, right = clouds.vectors(kept)
    return Knowledge(
        sides=(_known(fit, candidates, a, 0, rng), _known(fit, candidates, b, 1, rng)),
        maps=[(half(of_a), half(of_b)) for of_a, of_b in fit.maps],
        whole=None if fit.whole is None else (half(fit.whole[0]), half(fit.whole[1])),
        nearby=Nearby(kept, half(left), half(right)),
        model=calibrated.model,
        k=clouds.k,
        overlap=calibrated.overlap,
        fitted_sizes=(len(a), len(b)),
    )


def pool_of(links: Links, a: Cloud, b: Cloud) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of rows of the clouds (m, 2) that maps are fitted to, the surest first, and their probabilities (m,)."""
    judged = links if links.considered is None else links.considered
    rows_a = lookup(a.rows, judged.pairs[:, 0])
    rows_b = lookup(b.rows, judged.pairs[:, 1])
    there = (rows_a >= 0) & (rows_b >= 0)  # copies and zero vectors are not
    _, first_a = np.unique(rows_a, return_index=True)
    _, first_b = np.unique(rows_b, return_index=True)
    places = np.arange(len(rows_a))
    there &= np.isin(places, first_a) & np.isin(places, first_b)
    if there.sum() < MIN_POOL:
        raise InputError(
            f"There are {plural(int(there.sum()), 'link')}; a linker for new rows needs at least {MIN_POOL}."
        )
    return np.column_stack([rows_a, rows_b])[there], judged.probability[there]


def half(values: np.ndarray) -> np.ndarray:
    """As float16 has it, in float32: what is saved and what is used are the same."""
    return np.asarray(values, np.float32).astype(np.float16).astype(np.float32)


def crowding(rows: np.ndarray, backdrop: np.ndarray, own: np.ndarray | None = None) -> np.ndarray:
    """Mean similarity of rows (n, d) to the nearest rows of a sample (s, d), without themselves: (n,) float32.

    own: (n,) place of each row in the sample, −1 where it is not in it.
    """
    near = multiply(rows, backdrop.T)
    if own is not None:
        inside = np.flatnonzero(own >= 0)
        near[inside, own[inside]] = EXCLUDED
    return largest_values(near, min(DENSITY_NEAREST, near.shape[1] - 1)).mean(axis=1)


def _known(fit: CrossFit, candidates: Candidates, cloud: Cloud, side: int, rng: np.random.Generator) -> KnownSide:
    """The state of one side after a fit."""
    n = len(cloud)
    sample = np.sort(rng.permutation(n)[:BACKDROP_ROWS])
    backdrop = half(cloud.take(sample))
    place = np.full(n, -1)
    place[sample] = np.arange(len(sample))
    crowded = np.empty(n, np.float32)
    for start, stop in tiles(n, BLOCK):
        crowded[start:stop] = crowding(cloud.block(start, stop), backdrop, place[start:stop])
    scale = np.array([crowded.mean(), max(float(crowded.std()), 1e-9)])
    best = candidates.best_b if side else candidates.best_a
    partners = candidates.rows_a if side else candidates.rows_b
    maps = fit.densities[:1] if fit.whole is not None else fit.densities  # of large clouds all maps share those
    fold = fit.split.of_b if side else fit.split.of_a
    assert cloud.mean is not None, "linkers for new rows are fitted to centred clouds"
    return KnownSide(
        parts=(Part.of(cloud.collection),),
        mean=cloud.mean,
        rows=cloud.rows,
        fold=fold.astype(np.int8),
        density=np.stack([each[side] for each in maps], axis=1).astype(np.float32),
        crowding=((crowded - scale[0]) / scale[1]).astype(np.float32),
        rivals=np.where(best >= 0, partners[best], -1).astype(np.int32),
        rival_scores=candidates.scores(best).astype(np.float32),
        scales=scales_of(cloud, None if fit.whole is None else half(fit.whole[side])),
        backdrop=backdrop,
        crowding_scale=scale,
        marks=marks_of(cloud.collection),
    )


def scales_of(cloud: Cloud, projection: np.ndarray | None) -> np.ndarray:
    """`KnownSide.scales` of the rows of a cloud under a projection (d, r); empty where there is none."""
    if projection is None:
        return np.empty((0, 2), np.float32)
    scales = np.empty((len(cloud), 2), np.float32)
    plain = Cloud(cloud.collection, cloud.rows)
    for start, stop in tiles(len(cloud), BLOCK):
        unit = plain.block(start, stop)
        length = _lengths(source_rows(cloud, start, stop).astype(np.float32))
        centred = np.maximum(_lengths(unit - cloud.mean), NO_DIRECTION)
        signature = np.maximum(_lengths(multiply(cloud.block(start, stop), projection)), 1e-12)
        scales[start:stop, 1] = 1 / (centred * signature)
        scales[start:stop, 0] = scales[start:stop, 1] / np.maximum(length, 1e-30)
    return scales


def source_rows(cloud: Cloud, start: int, stop: int) -> np.ndarray:
    """Rows `start` to `stop` of a cloud as the collection has them: not of unit length, not centred."""
    collection = cloud.collection
    where: slice | np.ndarray = slice(start, stop) if cloud.whole else cloud.rows[start:stop]
    plain = collection.scale is None and collection.vectors.dtype.itemsize in (2, 4)
    return collection.vectors[where] if plain else numbers(collection, where)


def _lengths(rows: np.ndarray) -> np.ndarray:
    return np.sqrt(np.einsum("ij,ij->i", rows, rows))
