"""The method's page says enough: span linking written again from it links as veclink does."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

import numpy as np

import veclink
from veclink.geometry import signatures
from veclink_bench.places import BENCH

N_SHARED, N_ALONE, N_SEEDS = 500, 550, 15


def rebuilt() -> ModuleType:
    """The script, which is no part of a package."""
    found = importlib.util.spec_from_file_location("rebuild_span", BENCH / "rebuild_span.py")
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules[found.name] = module  # its dataclasses look their module up
    found.loader.exec_module(module)
    return module


def test_span_linking_rebuilt_from_its_page_is_within_a_point_of_veclink() -> None:
    script = rebuilt()
    a, b, truth = script.sample()
    shared = truth[:N_SHARED]
    alone_a = np.setdiff1d(np.arange(len(a)), truth[:, 0])[:N_ALONE]
    alone_b = np.setdiff1d(np.arange(len(b)), truth[:, 1])[:N_ALONE]
    a = a[np.concatenate([shared[:, 0], alone_a])]
    b = b[np.concatenate([shared[:, 1], alone_b])]
    truth = np.stack([np.arange(N_SHARED)] * 2, axis=1)
    seeds = truth[np.random.default_rng(0).choice(N_SHARED, N_SEEDS, replace=False)]
    own = script.f1(script.link(a, b, seeds, np.random.default_rng(0)), truth)
    theirs = script.f1(veclink.link(a, b, seeds=seeds, random_state=0).pairs, truth)
    assert theirs > 95
    assert abs(own - theirs) <= 1


def test_the_rebuilt_maps_have_the_ridges_and_powers_of_those_of_veclink() -> None:
    """The sample has too few links for the maps of many."""
    script = rebuilt()
    assert script.FEW_ANCHORS == signatures.FEW_ANCHORS
    for name in ("JOINED_RULES", "JOINED_RULES_OF_FEW"):
        assert getattr(script, name) == tuple((rule.ridge, rule.power) for rule in getattr(signatures, name))
