"""Merges that several tests look at: of the bundled sample, and of small made-up collections."""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa

from span_papers import all_papers
from veclink import Collection, Translator, merge, sample
from veclink.data.links import Links
from veclink.data.summary import Summary
from veclink.geometry.signatures import unit_rows
from veclink.uses.merging import Merged


@cache
def translator() -> Translator:
    """Of the sample, fitted to its true links."""
    papers = all_papers()
    return Translator.fit(papers.truth, papers.a, papers.b, map="procrustes", check=False)


def merged_sample() -> Merged:
    """The bundled sample, merged by its true links."""
    return merge(sample.A, sample.B, sample.TRUTH, translator=translator())


def small(n: int, d: int, seed: int, ids: list[object] | None = None, payload: pa.Table | None = None) -> Collection:
    """So many random directions."""
    vectors = np.random.default_rng(seed).standard_normal((n, d)).astype(np.float32)
    return Collection.from_array(unit_rows(vectors), ids=ids, payload=payload)


def weighted(pairs: list[tuple[int, int]], probability: list[float], n_a: int, n_b: int) -> Links:
    """Links with these probabilities."""
    summary = Summary(method="span", n_a=n_a, n_b=n_b, n_links=len(pairs))
    return Links(np.array(pairs), np.array(probability), summary)


def small_merge() -> Merged:
    """A hundred rows with a hundred, of which thirty are linked."""
    links = weighted([(row, row) for row in range(30)], [0.96] * 30, 100, 100)
    return merge(small(100, 8, 0), small(100, 8, 1), links, map="procrustes")
