"""The result of any linker: a `Decision` about pairs of rows of two clouds, and the `Links` it becomes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from veclink.confidence.constants import CALIBRATION_VERSION
from veclink.confidence.intervals import caution_of
from veclink.data.links import Links
from veclink.data.summary import Summary, shares
from veclink.geometry.clouds import Cloud
from veclink.linkers.anchors import Anchors, no_pairs
from veclink.linkers.verdict import Verdict


@dataclass(frozen=True, eq=False)
class Decision:
    """What a linker decided: pairs of rows of two clouds, of which the first `kept` are links.

    Attributes
    ----------
    method : str
        The linker.
    verdict : Verdict
        Whether to believe it, and why.
    pairs : ndarray of shape (n, 2)
        Rows of A and of B.
    probability : ndarray of shape (n,)
        How sure each pair is; falling, where precision is estimated.
    evidence : dict of ndarrays of shape (n,)
        The columns that explain each pair.
    kept : int
        How many of the pairs are links.
    overlap : float, optional
        Estimated number of shared objects; None where the method estimates nothing.
    overlap_range : (float, float), optional
        The range of that number.
    outlier_seeds : ndarray of shape (w,)
        Positions of the given pairs that look wrong.
    rounds : int
        Rounds or iterations that it took.
    trace : dict
        How it came about, as plain values (see `trace`).
    """

    method: str
    verdict: Verdict
    pairs: np.ndarray = field(default_factory=no_pairs)
    probability: np.ndarray = field(default_factory=lambda: np.empty(0))
    evidence: dict[str, np.ndarray] = field(default_factory=dict)
    kept: int = 0
    overlap: float | None = None
    overlap_range: tuple[float, float] | None = None
    outlier_seeds: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    rounds: int = 0
    trace: dict[str, Any] = field(default_factory=dict)


def links_of(decision: Decision, a: Cloud, b: Cloud, anchors: Anchors | None, options: dict[str, Any]) -> Links:
    """The links of two collections from a decision about their clouds.

    Parameters
    ----------
    decision : Decision
        What was decided.
    a, b : Cloud
        Where its rows come from.
    anchors : Anchors, optional
        What was given.
    options : dict
        What the method was told, as plain values.
    """
    making = _Making(decision, a, b, anchors, options)
    if decision.overlap is None:
        return making.links(decision.kept)
    considered = making.links(len(decision.pairs))
    return making.links(decision.kept, considered)


@dataclass(frozen=True, eq=False)
class _Making:
    """What `Links` are made from."""

    decision: Decision
    a: Cloud
    b: Cloud
    anchors: Anchors | None
    options: dict[str, Any]

    def links(self, count: int, considered: Links | None = None) -> Links:
        """The first so many pairs as links."""
        found = self.decision
        rows_a = self.a.rows[found.pairs[:count, 0]]
        rows_b = self.b.rows[found.pairs[:count, 1]]
        return Links(
            pairs=np.column_stack([rows_a, rows_b]),
            probability=found.probability[:count],
            summary=self._summary(count),
            evidence=self._evidence(count),
            ids_a=self.a.collection.ids_at(rows_a),
            ids_b=self.b.collection.ids_at(rows_b),
            options=self.options,
            considered=considered,
            trace=self._trace(),
        )

    def _evidence(self, count: int) -> dict[str, np.ndarray]:
        columns = self.decision.evidence.items()
        return {name: self._source_rows(name, column[:count]) for name, column in columns}

    def _summary(self, count: int) -> Summary:
        found = self.decision
        return Summary(
            method=found.method,
            n_a=len(self.a.collection),
            n_b=len(self.b.collection),
            n_links=count,
            verdict=found.verdict.name,
            why=found.verdict.why,
            wrong_seeds=self._wrong_seeds(),
            calibration=CALIBRATION_VERSION,
            iterations=found.rounds,
            **self._estimates(count),
        )

    def _estimates(self, count: int) -> dict[str, Any]:
        """Precision, recall and overlap of the first so many pairs, and the caution that `Links.at` uses."""
        overlap, probability = self.decision.overlap, self.decision.probability
        if overlap is None or not len(probability):
            return {}
        caution = caution_of(float(probability.sum()))
        if not count:
            return {"caution": caution}
        precision, recall = shares(probability[:count], overlap)
        return {
            "precision": precision,
            "recall": recall,
            "overlap": overlap,
            "overlap_range": self.decision.overlap_range,
            "caution": caution,
        }

    def _wrong_seeds(self) -> tuple[tuple[int, int], ...]:
        if self.anchors is None or self.anchors.pairs is None or not self.anchors.marked:
            return ()
        wrong = self.anchors.pairs[self.decision.outlier_seeds]
        rows_a = self.a.rows[wrong[:, 0]]
        rows_b = self.b.rows[wrong[:, 1]]
        return tuple(zip(rows_a.tolist(), rows_b.tolist(), strict=True))

    def _source_rows(self, name: str, values: np.ndarray) -> np.ndarray:
        """Columns that name rows of a cloud, as rows of the collection: the two differ where zeros were skipped."""
        if not name.endswith(("_a", "_b")) or name.startswith("rank"):
            return values
        rows = self.a.rows if name.endswith("_a") else self.b.rows
        return np.where(values >= 0, rows[np.maximum(values, 0)], -1)

    def _trace(self) -> dict[str, Any]:
        """The trace, its hubs as rows of the collections."""
        trace = dict(self.decision.trace)
        hubs = trace.get("hubs")
        if hubs is not None:
            trace["hubs"] = {side: self._hubs(side, hubs[side]) for side in hubs}
        return trace

    def _hubs(self, side: str, listed: list[list[int]]) -> list[list[int]]:
        rows = self.a.rows if side == "a" else self.b.rows
        return [[int(rows[row]), count] for row, count in listed]
