"""The threads that share out compiled loops: as many as BLAS uses, made once and kept."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache


@cache
def thread_count() -> int:
    """Processors this process may use, or fewer where the environment limits BLAS or numba."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limits = (os.environ.get(name, "") for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"))
    return max(1, min([available, *(int(limit) for limit in limits if limit.isdigit())]))


def share(loop: Callable[[int, int], None], size: int, *, grain: int = 64) -> None:
    """Runs loop(start, stop) over 0…size−1 in contiguous parts of whole `grain`s, one part per thread, and waits."""
    parts = min(thread_count(), -(-size // grain))
    if parts <= 1:
        loop(0, size)
        return
    step = -(-size // (parts * grain)) * grain
    waiting = [_pool().submit(loop, start, min(start + step, size)) for start in range(step, size, step)]
    loop(0, step)
    for part in waiting:
        part.result()


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(thread_count(), thread_name_prefix="veclink")


# A forked child inherits the pool but none of its threads.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)
