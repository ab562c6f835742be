"""Runs of span linking on the bundled sample that several tests look at; each is made once in a test run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from veclink import sample
from veclink.backends import CloudPair
from veclink.cli.links import Demo, run_demo
from veclink.confidence.candidates import Candidates, crossfit
from veclink.confidence.evidence import neighbourhood_features
from veclink.data.collection import Collection
from veclink.data.links import Links
from veclink.data.pairs import resolve_pairs
from veclink.geometry.clouds import prepare
from veclink.geometry.signatures import unit_rows
from veclink.linkers.anchors import Anchors, anchors_from_rows
from veclink.linkers.linking import link
from veclink.linkers.span.growing import Pool, grow
from veclink.stores.opening import open_collection

N_SHARED, N_ALONE, N_SEEDS = 180, 120, 15
DIMENSIONS_A, DIMENSIONS_B = 96, 128


@dataclass(frozen=True, eq=False)
class Papers:
    """Vectors of two models, the true pairs of rows, and a few of them as seeds."""

    a: np.ndarray
    b: np.ndarray
    truth: np.ndarray
    seeds: np.ndarray

    def right(self, pairs: np.ndarray) -> np.ndarray:
        """Which of the pairs are true."""
        width = len(self.b)
        return np.isin(pairs[:, 0] * width + pairs[:, 1], self.truth[:, 0] * width + self.truth[:, 1])


@cache
def all_papers() -> Papers:
    """The whole sample: 1,950 × 1,950, 900 shared, its 15 seeds."""
    a, b = open_collection(sample.A), open_collection(sample.B)
    truth, seeds = resolve_pairs(sample.TRUTH, a, b, what="truth"), resolve_pairs(sample.SEEDS, a, b)
    return Papers(np.asarray(a.vectors, np.float32), np.asarray(b.vectors, np.float32), truth, seeds)


@cache
def some_papers() -> Papers:
    """A cut of the sample, 300 × 300 with 180 shared, in another order on either side, and of few dimensions.

    Linking it, and fitting a linker to its links, takes far less time than 500 × 500 rows of all dimensions do.
    """
    cut, (of_a, of_b) = _cut(N_SHARED, N_ALONE), _directions()
    return replace(cut, a=unit_rows(cut.a @ of_a), b=unit_rows(cut.b @ of_b))


def outside_papers() -> tuple[np.ndarray, np.ndarray]:
    """Vectors of 30 papers by both models that are not in the cut, in its few dimensions."""
    whole, (of_a, of_b) = all_papers(), _directions()
    rows_a, rows_b = whole.truth[500:530].T
    return unit_rows(whole.a[rows_a] @ of_a), unit_rows(whole.b[rows_b] @ of_b)


@cache
def _directions() -> tuple[np.ndarray, np.ndarray]:
    """Those in which the vectors of the cut vary most."""
    cut = _cut(N_SHARED, N_ALONE)
    of_a, of_b = (np.linalg.svd(side - side.mean(axis=0), full_matrices=False)[2] for side in (cut.a, cut.b))
    return of_a[:DIMENSIONS_A].T, of_b[:DIMENSIONS_B].T


@cache
def more_papers() -> Papers:
    """A larger cut, 500 × 500 with 300 shared, of all dimensions: for what 300 rows cannot show."""
    return _cut(300, 200)


def _cut(n_shared: int, n_alone: int) -> Papers:
    whole, rng = all_papers(), np.random.default_rng(0)
    alone_a = np.setdiff1d(np.arange(len(whole.a)), whole.truth[:, 0])[:n_alone]
    alone_b = np.setdiff1d(np.arange(len(whole.b)), whole.truth[:, 1])[:n_alone]
    rows_a = rng.permutation(np.concatenate([whole.truth[:n_shared, 0], alone_a]))
    rows_b = rng.permutation(np.concatenate([whole.truth[:n_shared, 1], alone_b]))
    truth = np.column_stack(
        [np.argsort(rows_a)[np.searchsorted(np.sort(rows_a), whole.truth[:n_shared, 0])],
         np.argsort(rows_b)[np.searchsorted(np.sort(rows_b), whole.truth[:n_shared, 1])]]
    )  # fmt: skip
    return Papers(whole.a[rows_a], whole.b[rows_b], truth, truth[:N_SEEDS])


@cache
def _folder() -> TemporaryDirectory[str]:
    """Removed when the test run ends."""
    return TemporaryDirectory()


@cache
def demo() -> Demo:
    """The whole sample, linked from its seeds with the default options, and its report."""
    return run_demo(device="cpu", report=Path(_folder().name) / "demo.html")


def linked() -> Links:
    """The links of the whole sample."""
    return demo().links


@cache
def linked_cut() -> Links:
    """The cut, linked from 15 seeds with the default options."""
    papers = some_papers()
    return link(papers.a, papers.b, seeds=papers.seeds, device="cpu")


@cache
def whole_cloud_pair() -> Any:
    """The centred clouds of the whole sample: a CloudPair whose sides have an `array`, as they are held."""
    return _centred(all_papers())


@cache
def cloud_pair() -> Any:
    """The same of the cut."""
    return _centred(some_papers())


@cache
def more_cloud_pair() -> Any:
    """The same of the larger cut."""
    return _centred(more_papers())


def _centred(papers: Papers) -> CloudPair:
    return CloudPair(*(prepare(Collection.from_array(each)).dense() for each in (papers.a, papers.b)))


def seeds_of_cut() -> Anchors:
    """Its 15 seeds."""
    return anchors_from_rows(cloud_pair(), some_papers().seeds)


@cache
def pool() -> Pool:
    """The pool that grows on them from 15 seeds."""
    return grow(cloud_pair(), seeds_of_cut(), np.random.default_rng(0))


@cache
def candidates() -> Candidates:
    """The candidates that the pool gives."""
    return crossfit(cloud_pair(), pool().pairs, np.random.default_rng(1)).candidates


@cache
def neighbourhoods() -> np.ndarray:
    """The neighbourhood features of each candidate."""
    return neighbourhood_features(cloud_pair(), candidates(), pool().pairs, np.random.default_rng(2))
