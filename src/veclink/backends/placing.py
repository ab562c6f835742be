"""Where two clouds are put: on a cluster, on a GPU where they fit there, in memory, or read when asked."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from veclink.backends.cloud_pair import CloudPair
from veclink.files.memory import LEAST, available, parse_memory
from veclink.geometry.clouds import Cloud, Look

if TYPE_CHECKING:
    from veclink.backends.ray_cluster import Cluster


def placed_clouds(
    a: Cloud,
    b: Cloud,
    device: str,
    memory: int | str | None,
    *,
    k: int,
    ridge: float,
    cluster: Cluster | None = None,
) -> CloudPair:
    """The clouds as a `CloudPair`, with the neighbours k and the ridge λ of their signatures.

    memory: bytes that may be allocated beside the vectors.
    """
    budget = None if memory is None else parse_memory(memory, least=LEAST)
    if cluster is not None:
        from veclink.backends.ray_clouds import RayCloudPair

        clouds: CloudPair = RayCloudPair(a, b, cluster, ridge=ridge, k=k, memory=budget)
    else:
        resident = None if device == "cpu" else _resident_clouds(a, b, device, budget, k=k, ridge=ridge)
        clouds = resident or _on_this_machine(a, b, budget, ridge=ridge, k=k, device=device)
    clouds.means = a.mean, b.mean
    if a.mean is not None and b.mean is not None:

        def centred_on(mean_a: np.ndarray, mean_b: np.ndarray) -> CloudPair:
            moved = a.centred_on(mean_a), b.centred_on(mean_b)
            return placed_clouds(*moved, device, memory, k=k, ridge=ridge, cluster=cluster)

        clouds.centred_on = centred_on
    return clouds


def _on_this_machine(a: Cloud, b: Cloud, budget: int | None, **options: Any) -> CloudPair:
    """The clouds in memory where both fit, else read when asked."""
    most = available() // 2 if budget is None else budget // 2
    held = 4 * (a.shape[0] * a.shape[1] + b.shape[0] * b.shape[1])
    if held > most:
        return CloudPair(a, b, memory=budget, **options)
    rest = None if budget is None else budget - held
    return CloudPair(a.dense(), b.dense(), memory=rest, **options)


def look_on(device: str) -> Look | None:
    """How a pass over a collection is made on a device; None for numpy's."""
    if device == "cpu":
        return None
    from veclink.backends.torch_clouds import inspect

    return partial(inspect, device=device)


def machines_at(address: str | None, device: str) -> AbstractContextManager[Cluster | None]:
    """The cluster at an address, or none."""
    if address is None:
        return nullcontext()
    from veclink.backends.ray_cluster import connected

    return connected(address, device)


def _resident_clouds(a: Cloud, b: Cloud, device: str, budget: int | None, **options: Any) -> CloudPair | None:
    """The clouds on a GPU, in as few bytes as it takes; None where they would not fit, or take more than the budget."""
    from veclink.backends import torch_clouds

    room = torch_clouds.room_on(device, budget)
    number_bytes = torch_clouds.bytes_held(a.shape, b.shape, room)
    if number_bytes is None:
        return None
    sides = (torch_clouds.placed_rows(cloud, device, number_bytes) for cloud in (a, b))
    return torch_clouds.TorchCloudPair(*sides, device=device, memory=budget, **options)
