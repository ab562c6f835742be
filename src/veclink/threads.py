"""Threads: how many a computation uses, and how its work is shared out over them.

The threads of a BLAS library wait for one another by spinning. Where another process has one of the cores, the thread
that is to run there holds up all others at each of many thousand small steps, and a run takes ten times as long. So,
while `computing` lasts, BLAS computes in the thread that calls it, and work that is large is cut into parts that
threads take from one queue: a thread that gets no core takes no part, and nobody waits for it.

The parts of a job are the same however many threads there are, and so is every bit of the result.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar, copy_context
from functools import cache
from typing import Any, ParamSpec, TypeVar

import numpy as np

from veclink.errors import InputError

VARIABLE = "VECLINK_THREADS"
OTHERS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
ROWS_AT_ONCE = 256  # of a product: fewer run slower, with more the threads wait longer for the last one

Given = ParamSpec("Given")
Result = TypeVar("Result")

_asked: ContextVar[int | None] = ContextVar("threads that were asked for", default=None)
# BLAS is limited when the first computation begins, and no more when the last one ends.
_computations, _counting, _blas_limit = 0, threading.Lock(), ExitStack()


def thread_count() -> int:
    """Threads that work is shared out over.

    What `computing` was told; else $VECLINK_THREADS; else the cores that this process may use, or fewer where the
    environment limits BLAS or numba.
    """
    asked = _asked.get()
    if asked is not None:
        return asked
    given = os.environ.get(VARIABLE, "").strip()
    if given:
        return _checked(given, f"${VARIABLE}")
    limits = [os.environ.get(name, "") for name in OTHERS]
    if hasattr(os, "process_cpu_count"):  # Python 3.13
        cores = os.process_cpu_count() or 1
    else:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min([cores, *(int(limit) for limit in limits if limit.isdigit())]))


@contextmanager
def computing(threads: int | None = None) -> Iterator[None]:
    """While it lasts, BLAS uses one thread, and `share` as many as asked for; also a decorator.

    threads: None leaves the number as it is (see `thread_count`). Where threadpoolctl is missing, as where numpy and
    torch are all there is, BLAS keeps its threads.
    """
    global _computations
    asked = _asked.set(_asked.get() if threads is None else _checked(threads, "threads"))
    with _counting:
        _computations += 1
        if _computations == 1:
            with suppress(ImportError):
                from threadpoolctl import threadpool_limits

                _blas_limit.enter_context(threadpool_limits(1, user_api="blas"))
    try:
        yield
    finally:
        with _counting:
            _computations -= 1
            if not _computations:
                _blas_limit.close()
        _asked.reset(asked)


def takes_threads(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Let a function take `threads=`: while it works, it is `computing` with so many."""

    @functools.wraps(function)
    def limited(*args: Given.args, **keywords: Given.kwargs) -> Result:
        threads: Any = keywords.get("threads")
        with computing(threads):
            return function(*args, **keywords)

    return limited


def share(loop: Callable[[int, int], Any], size: int, *, step: int = ROWS_AT_ONCE) -> None:
    """Runs loop(start, stop) over 0…size−1 in parts of `step`, on several threads, and waits for all."""
    parts = iter(range(0, size, step))

    def work() -> None:
        for start in parts:  # taken one at a time by whichever thread is free
            loop(start, min(start + step, size))

    threads = thread_count()
    helpers = min(threads, -(-size // step)) - 1
    if helpers < 1:
        work()
        return
    waiting = [_pool(threads - 1).submit(copy_context().run, work) for _ in range(helpers)]
    try:
        work()
    finally:
        running = [each for each in waiting if not each.cancel()]  # what has not begun by now is not waited for
        wait(running)
        for each in running:
            each.result()


def multiply(
    left: np.ndarray,
    right: np.ndarray,
    out: np.ndarray | None = None,
    after: Callable[[np.ndarray], Any] | None = None,
) -> np.ndarray:
    """left (n, d) · right (d, m), the rows shared out over threads.

    after: what is done to each block of rows of the product, in place.
    """
    product = np.empty((left.shape[0], right.shape[1]), np.result_type(left, right)) if out is None else out

    def rows(start: int, stop: int) -> None:
        np.matmul(left[start:stop], right, out=product[start:stop])
        if after is not None:
            after(product[start:stop])

    share(rows, len(left))
    return product


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="veclink")


# A forked child inherits the pools but none of their threads.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)


def _checked(threads: int | str, name: str) -> int:
    try:
        count = int(threads)
    except ValueError:
        count = 0
    if count < 1:
        raise InputError(f"{name} is {threads!r}; it is a whole number from 1.")
    return count
