"""Centring anew on what is shared, where the rest of a cloud is of another kind."""

from __future__ import annotations

import numpy as np
import pytest

from veclink import link, sample
from veclink.data.pairs import resolve_pairs
from veclink.linkers.span import centring
from veclink.stores.opening import open_collection


def _of_two_kinds() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A of one kind; B of that kind and, three times as many, of another; the true pairs and some seeds.

    The other kind is the first, moved by as much as the rows are apart: what a model makes of other texts.
    """
    left, right = open_collection(sample.A), open_collection(sample.B)
    truth = resolve_pairs(sample.TRUTH, left, right, what="truth")
    shared = np.random.default_rng(1).permutation(truth)[:250]
    a = np.asarray(left.vectors[shared[:, 0]], np.float32)
    same = np.asarray(right.vectors[shared[:, 1]], np.float32)
    rest = np.setdiff1d(np.arange(len(right)), shared[:, 1])[:750]
    other = np.asarray(right.vectors[rest], np.float32)
    step = np.asarray(np.random.default_rng(2).normal(size=(other.shape[1],)), np.float32)
    other = other + 1.5 * step / np.linalg.norm(step)
    pairs = np.column_stack([np.arange(len(a)), np.arange(len(same))])
    return a, np.concatenate([same, other]), pairs, pairs[:10]


def test_links_are_found_where_one_side_holds_another_kind_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without refits, which make up for means that are off here."""
    a, b, truth, seeds = _of_two_kinds()
    found = link(a, b, seeds=seeds, device="cpu", refits=0).evaluate(truth)
    assert found.f1 > 0.9
    monkeypatch.setattr(centring, "MOVED_MEAN", np.inf)
    assert link(a, b, seeds=seeds, device="cpu", refits=0).evaluate(truth).f1 < found.f1
