"""Other ways to link, to compare with: the paper's baselines and two beyond it, behind one call.

Each is a function from two clouds and their anchors to Links, and shares the matching with the linkers. A name with
"tuned" is the same method with settings that suit few seeds and small encoders better than the paper's; both are run
in every comparison.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

from veclink.backends import chosen_device
from veclink.data.links import Links
from veclink.data.pairs import resolve_pairs
from veclink.errors import InputError
from veclink.geometry.clouds import prepare
from veclink.linkers.anchors import anchors_from_pairs, anchors_from_vectors
from veclink.stores.opening import open_collection


@dataclass(frozen=True)
class Baseline:
    """A function of this package by name, whether its clouds are centred, and its options.

    told_overlap: it is given the number of shared objects, which no user has. chance: it takes a random state.
    """

    function: str
    centred: bool
    options: dict[str, Any] = field(default_factory=dict)
    told_overlap: bool = False
    chance: bool = False

    def load(self) -> Callable[..., Links]:
        """The function itself."""
        return getattr(import_module(f"veclink_bench.baselines.{self.function}"), self.function)


BASELINES = {
    "linear": Baseline("linear", False, chance=True),
    "linear tuned": Baseline("linear", True, {"ridge": 0.03, "project": True, "k": 10}, chance=True),
    "cca": Baseline("cca", False),
    "cca tuned": Baseline("cca", True, {"ridge": 10.0, "power": 1.0, "k": 10}),
    "mlp": Baseline("mlp", False, chance=True),
    "mlp tuned": Baseline("mlp", True, {"rate": 1e-3, "epochs": 50, "project": True, "k": 10}, chance=True),
    "rcsls": Baseline("rcsls", False),
    "rcsls tuned": Baseline("rcsls", True, {"low_rank": True, "epochs": 3, "project": True, "k": 10}),
    "procrustes": Baseline("procrustes", False),
    "procrustes tuned": Baseline("procrustes", True, {"rank": 0, "k": 10}),
    "ugw": Baseline("ugw", False),
    "ugw tuned": Baseline("ugw", True, {"fused": 1.0}),
    "ao": Baseline("ao", False, {"extra": None, "sinkhorn": 1}, told_overlap=True, chance=True),
    "ao tuned": Baseline("ao", True, {"temperature": 0.02, "k": 10}, told_overlap=True, chance=True),
    "self-learning": Baseline("self_learning", True, {"growth": "all", "weight": 0.5}),
    "self-learning tuned": Baseline("self_learning", True, {"growth": "rank", "factor": 1.2, "rounds": 40}),
    "self-learning cut": Baseline("self_learning", True, {"growth": "rank", "factor": 1.2, "rounds": 40, "cut": True}),
    "centroids": Baseline("centroids", True, chance=True),
}


def link_by(
    name: str,
    a: Any,
    b: Any,
    *,
    seeds: Any = None,
    anchors: tuple[Any, Any] | None = None,
    overlap: int | None = None,
    device: str = "cpu",
    memory: int | str | None = None,
    random_state: int = 0,
    **options: Any,
) -> Links:
    """Links by the baseline `name`; sources, seeds and anchors are as in `veclink.link`.

    overlap: the number of shared objects, for those that are told it. `options` go over the baseline's own.
    """
    began = time.perf_counter()
    if name not in BASELINES:
        raise InputError(f"The baseline {name!r} is unknown; it is one of {', '.join(BASELINES)}.")
    baseline = BASELINES[name]
    if (seeds is None) == (anchors is None):
        raise InputError(f"The baseline {name!r} starts from seeds or from anchors; give one of them.")
    left, right = open_collection(a), open_collection(b)
    clouds = prepare(left, centre=baseline.centred, side="A"), prepare(right, centre=baseline.centred, side="B")
    start = (
        anchors_from_pairs(*clouds, resolve_pairs(seeds, left, right))
        if anchors is None
        else anchors_from_vectors(*clouds, open_collection(anchors[0]), open_collection(anchors[1]))
    )
    own = baseline.options | options
    if baseline.told_overlap:
        own |= {"overlap": overlap}
    if baseline.chance:
        own |= {"random_state": random_state}
    own |= {"device": chosen_device(device), "memory": memory}
    links = baseline.load()(*clouds, start, **own)
    return links.told(replace(links.summary, seconds=time.perf_counter() - began))
