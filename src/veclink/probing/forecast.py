"""A forecast of precision, recall and time: link a part of the two collections, chosen so that partners stay in it.

A random part would lose nearly all partners: with a tenth of either side, one in a hundred pairs is left. Near the
seeds they stay together, since both models agree on what is near. Not all of them do, so a part is harder than the
whole: in trials the whole had a third as many wrong links, in its share, and missed half as many objects. The forecast
allows for that; how often its ranges hold is in `bench/results/experiments/coverage.json`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from veclink.backends import chosen_device
from veclink.confidence.intervals import Estimates, Interval, estimate
from veclink.data.collection import Collection
from veclink.data.links import Links
from veclink.data.pairs import sharing_no_row
from veclink.geometry.clouds import Cloud
from veclink.geometry.signatures import RIDGE
from veclink.linkers.linking import link
from veclink.linkers.outlier_seeds import find_outlier_seeds
from veclink.linkers.span.constants import OUTLIER_ANCHORS
from veclink.progress import ProgressListener

WHOLE = 4000  # rows up to which a collection is linked as a whole
PART = 2500  # rows of a larger one that are linked
BLOCK = 1 << 14
# What is wrong and what is missed of the whole, as a multiple of what the part says: the least, the middle, the most.
WRONG = (0.12, 0.36, 0.9)
MISSED = (0.1, 0.5, 1.8)
# Seconds grow with this power of the rows of a side. A GPU is mostly waiting at first.
GROWTH = {"cpu": 1.2, "cuda": 0.4}
FASTER, SLOWER = 3.0, 3.0
FEW = 20  # links, below which nothing can be seen from them


@dataclass(frozen=True)
class Forecast:
    """What linking will give, as far as a trial can tell.

    whole: whether the trial was on everything, or only on `rows` of either side near the seeds. precision, recall: of
    linking everything, with ranges that hold the truth about nine times in ten. shared: estimated share of the smaller
    collection (of the part) that is in both. seconds: for linking everything on this machine, with its range.
    wrong_seeds: rows of the given pairs that look wrong; None where that cannot be said.
    """

    whole: bool
    rows: tuple[int, int]
    n_links: int
    verdict: str
    reasons: tuple[str, ...]
    precision: float | None
    precision_range: tuple[float, float] | None
    recall: float | None
    recall_range: tuple[float, float] | None
    shared: float | None
    seconds: float
    seconds_range: tuple[float, float]
    wrong_seeds: tuple[tuple[int, int], ...] | None


@dataclass(frozen=True, eq=False)
class Trial:
    """The links of a part of two clouds, or of all of them. rows: the positions in either cloud that were linked."""

    links: Links
    rows: tuple[np.ndarray, np.ndarray]
    whole: bool


def forecast_links(
    a: Cloud,
    b: Cloud,
    pairs: np.ndarray | None,
    *,
    device: str,
    random_state: int,
    progress: ProgressListener | None = None,
    most: int = WHOLE,
    part: int = PART,
) -> Forecast | None:
    """Link what is small enough, else what is near the seeds; None where there are no seeds to be near to.

    most: rows up to which everything is linked; part: rows of either side that are linked where there are more.
    """
    whole = max(len(a), len(b)) <= most
    if not whole and pairs is None:
        return None
    seeds = None if pairs is None else np.column_stack([a.positions(pairs[:, 0]), b.positions(pairs[:, 1])])
    tried = link_part(
        a,
        b,
        seeds,
        device=device,
        random_state=random_state,
        progress=progress,
        part=None if whole else part,
    )
    links, rows = tried.links, tried.rows
    summary, found = links.summary, estimate(links)
    smaller = min(len(rows[0]), len(rows[1]))
    precision = recall = None
    if found is not None:
        precision, recall = (found.precision, found.recall) if whole else of_the_whole(found)
    larger = np.sqrt((len(a) / len(rows[0])) * (len(b) / len(rows[1])))
    fastest, seconds, slowest = seconds_for_all(summary.seconds or 0.0, float(larger), chosen_device(device))
    return Forecast(
        whole=whole,
        rows=(len(rows[0]), len(rows[1])),
        n_links=len(links),
        verdict=summary.verdict,
        reasons=summary.reasons,
        precision=None if precision is None else precision.value,
        precision_range=None if precision is None else (precision.low, precision.high),
        recall=None if recall is None else recall.value,
        recall_range=None if recall is None else (recall.low, recall.high),
        shared=None if summary.overlap is None else summary.overlap / smaller,
        seconds=seconds,
        seconds_range=(fastest, slowest),
        wrong_seeds=wrong_seeds(a, b, seeds, tried, random_state),
    )


def link_part(
    a: Cloud,
    b: Cloud,
    seeds: np.ndarray | None,
    *,
    device: str,
    random_state: int,
    progress: ProgressListener | None = None,
    part: int | None = PART,
) -> Trial:
    """Link so many rows of either side near the seeds, or all where `part` is None or there are no seeds.

    seeds: (n, 2) positions in the two clouds.
    """
    whole = part is None or seeds is None
    rows = np.arange(len(a)), np.arange(len(b))
    if part is not None and seeds is not None:
        rows = _near(a, seeds[:, 0], part), _near(b, seeds[:, 1], part)
    given = None
    if seeds is not None:
        given = np.column_stack([np.searchsorted(rows[0], seeds[:, 0]), np.searchsorted(rows[1], seeds[:, 1])])
    parts = _part(a, rows[0]), _part(b, rows[1])
    links = link(*parts, seeds=given, device=device, random_state=random_state, progress=progress)
    return Trial(links, rows, whole)


def of_the_whole(part: Estimates) -> tuple[Interval, Interval]:
    """Precision and recall of linking everything, from those of a part near the seeds."""

    def turned(share: float, factors: tuple[float, float, float]) -> Interval:
        least, middle, most = (max(0.0, 1 - (1 - share) * factor) for factor in factors)
        return Interval(middle, most, least)

    return turned(part.precision.value, WRONG), turned(part.recall.value, MISSED)


def seconds_for_all(seconds: float, larger: float, device: str) -> tuple[float, float, float]:
    """The least, likely and most time for sides that are so many times as large as those that took `seconds`."""
    likely = seconds * larger ** GROWTH["cpu" if device == "cpu" else "cuda"]
    return (seconds, seconds, seconds) if larger == 1 else (likely / FASTER, likely, likely * SLOWER)


def wrong_seeds(
    a: Cloud, b: Cloud, seeds: np.ndarray | None, tried: Trial, random_state: int
) -> tuple[tuple[int, int], ...] | None:
    """Rows of the seeds that look wrong: what linking says where all was linked; None where nothing can be said.

    seeds: (n, 2) positions in the two clouds.

    Of a part, the trial's links take the place of the pool that linking would have: the rule is the same.
    """
    links = tried.links
    if seeds is None or (links.summary.verdict == "not linkable" and not links.summary.wrong_seeds):
        return None
    if tried.whole:
        return tuple((int(a.rows[i]), int(b.rows[j])) for i, j in links.summary.wrong_seeds)
    found = np.column_stack([rows[links.pairs[:, column]] for column, rows in enumerate(tried.rows)])
    anchors = found[sharing_no_row(found, seeds)]
    if len(anchors) < FEW:
        return None
    rng = np.random.default_rng(random_state)

    def sample(side: str, most: int) -> np.ndarray:
        cloud = a if side == "a" else b
        return cloud.take(np.sort(rng.permutation(len(cloud))[:most]))

    ends = a.take(seeds[:, 0]), b.take(seeds[:, 1])
    seen_from = a.take(anchors[:OUTLIER_ANCHORS, 0]), b.take(anchors[:OUTLIER_ANCHORS, 1])
    wrong = seeds[find_outlier_seeds(ends, seen_from, sample, RIDGE)]
    return tuple((int(a.rows[i]), int(b.rows[j])) for i, j in wrong)


def _near(cloud: Cloud, seeds: np.ndarray, count: int) -> np.ndarray:
    """The `count` rows nearest to any of the seeds, with the seeds themselves, in rising order."""
    given, count = cloud.take(seeds), min(max(count, len(seeds)), len(cloud))
    nearest = np.concatenate(
        [(cloud.block(start, start + BLOCK) @ given.T).max(axis=1) for start in range(0, len(cloud), BLOCK)]
    )
    nearest[seeds] = np.inf
    return np.sort(np.argpartition(-nearest, count - 1)[:count])


def _part(cloud: Cloud, rows: np.ndarray) -> Collection:
    """The rows of a cloud as a collection of their own, without ids: the forecast speaks of none."""
    source, where = cloud.collection, cloud.rows[rows]
    scale = source.scale
    if isinstance(scale, np.ndarray) and len(scale) == len(source):
        scale = scale[where]
    return replace(source, vectors=np.asarray(source.vectors[where]), ids=None, payload=None, scale=scale)
