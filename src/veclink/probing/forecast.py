"""A forecast of precision, recall and time: link a part of the two collections, chosen so that partners stay in it.

A random part would lose nearly all partners: with a tenth of either side, one in a hundred pairs is left. Near the
seeds they stay together, since both models agree on what is near. Not all of them do, so what is forecast from a part
is rather too low: precision by 6 to 16 points in three trials (`experiments/results/probe.json`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from veclink.cloud import Cloud
from veclink.collection import Collection
from veclink.linking import link
from veclink.progress import ProgressListener
from veclink.report.estimates import estimate

WHOLE = 4000  # rows up to which a collection is linked as a whole
PART = 2500  # rows of a larger one that are linked
BLOCK = 1 << 14


@dataclass(frozen=True)
class Forecast:
    """What linking will give, as far as a trial can tell.

    whole: whether the trial was on everything, or only on `rows` of either side near the seeds. precision, recall and
    their ranges; shared: estimated share of the smaller collection (of the part) that is in both. seconds: for
    linking everything on this machine, at most about.
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
    rows = (np.arange(len(a)), np.arange(len(b)))
    if not whole and pairs is not None:
        rows = (_near(a, a.positions(pairs[:, 0]), part), _near(b, b.positions(pairs[:, 1]), part))
    parts = [_part(cloud, own) for cloud, own in zip((a, b), rows, strict=True)]
    seeds = None
    if pairs is not None:
        here = [cloud.positions(pairs[:, column]) for column, cloud in enumerate((a, b))]
        seeds = np.column_stack([np.searchsorted(own, place) for own, place in zip(rows, here, strict=True)])
    options: dict[str, Any] = {"device": device, "random_state": random_state, "progress": progress}
    links = link(parts[0], parts[1], seeds=seeds, **options)
    summary, found = links.summary, estimate(links)
    smaller = min(len(rows[0]), len(rows[1]))
    growth = (len(a) / len(rows[0])) * (len(b) / len(rows[1]))
    return Forecast(
        whole=whole,
        rows=(len(rows[0]), len(rows[1])),
        n_links=len(links),
        verdict=summary.verdict,
        reasons=summary.reasons,
        precision=summary.precision,
        precision_range=None if found is None else (found.precision.low, found.precision.high),
        recall=summary.recall,
        recall_range=None if found is None else (found.recall.low, found.recall.high),
        shared=None if summary.overlap is None else summary.overlap / smaller,
        seconds=(summary.seconds or 0.0) * growth,
    )


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
