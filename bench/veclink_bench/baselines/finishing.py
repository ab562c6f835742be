"""How every baseline ends: csls mutual neighbours of two sets of mapped vectors, joined to what was given."""

from __future__ import annotations

from typing import Any

import numpy as np

from veclink.data.links import Links
from veclink.data.summary import Summary
from veclink.geometry.clouds import Cloud
from veclink.geometry.signatures import unit_rows
from veclink.linkers.anchors import Anchors
from veclink.linkers.geh.linker import otsu
from veclink.matching import match


def mutual_links(
    method: str,
    a: Cloud,
    b: Cloud,
    mapped_a: np.ndarray,
    mapped_b: np.ndarray,
    anchors: Anchors,
    *,
    k: int,
    device: str = "cpu",
    memory: int | str | None = None,
    keep: int | None = None,
    cut: bool = False,
    options: dict[str, Any] | None = None,
    iterations: int = 1,
) -> Links:
    """Links of two clouds whose rows were mapped to vectors (n1, r) and (n2, r) that compare by cosine.

    cut: only those whose csls is above Otsu's threshold.
    """
    rows_a, rows_b = (unit_rows(np.array(side, np.float32)) for side in (mapped_a, mapped_b))
    pairs, score = match(rows_a, rows_b, k=k, device=device, memory=memory).mutual()
    if cut and len(score):
        sure = score >= otsu(np.round(score, 3))
        pairs, score = pairs[sure], score[sure]
    return ranked_links(method, a, b, pairs, score, anchors, keep=keep, options=options, iterations=iterations)


def within_span(anchors: Anchors, mapped_a: np.ndarray, rows_b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both sides on an orthonormal basis of the span of B's anchors: what a map from few anchors can say lies there.

    The rest of a row of B is the same noise for every image, and only makes the cosines smaller.
    """
    basis = np.linalg.qr(anchors.right.T.astype(np.float64))[0].astype(np.float32)
    return mapped_a @ basis, rows_b @ basis


def ranked_links(
    method: str,
    a: Cloud,
    b: Cloud,
    pairs: np.ndarray,
    score: np.ndarray,
    anchors: Anchors,
    *,
    keep: int | None = None,
    options: dict[str, Any] | None = None,
    iterations: int = 1,
) -> Links:
    """Links from one-to-one pairs of rows and their scores: the given pairs first, then the others by score.

    Given pairs stay, and no other may share a row with them. `keep` is the most links in all. No baseline estimates
    probabilities: the column holds 1 for a given pair and falls with the rank, which orders the links and says no more.
    """
    given = np.empty((0, 2), np.int64) if anchors.pairs is None else anchors.pairs
    free = ~(np.isin(pairs[:, 0], given[:, 0]) | np.isin(pairs[:, 1], given[:, 1]))
    pairs, score = pairs[free], score[free]
    best = np.argsort(-score, kind="stable")[: None if keep is None else max(keep - len(given), 0)]
    everything = np.concatenate([given, pairs[best]])
    rank = np.arange(1, len(best) + 1) / (len(best) + 1)
    return Links(
        pairs=np.column_stack([a.rows[everything[:, 0]], b.rows[everything[:, 1]]]),
        probability=np.concatenate([np.ones(len(given)), 1 - rank]),
        summary=Summary(
            method=method, n_a=len(a.collection), n_b=len(b.collection), n_links=len(everything), iterations=iterations
        ),
        evidence={
            "score": np.concatenate([np.full(len(given), np.nan), score[best]]).astype(np.float32),
            "given": np.arange(len(everything)) < len(given),
        },
        options=options or {},
    )
