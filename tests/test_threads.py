"""Threads: how many there are, that work is shared out whole, and that BLAS has its own threads back afterwards."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from grown_papers import first_links, grown_papers
from veclink import Linker
from veclink.errors import InputError
from veclink.progress import Progress
from veclink.threads import computing, cores, multiply, share, thread_count


@pytest.fixture(scope="module", autouse=True)
def computing_all_the_while() -> None:
    """Not here: BLAS keeps its threads until a test asks for one."""


def blas_threads() -> set[int]:
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


def test_threads_are_those_asked_for_else_those_of_the_environment_else_the_cores(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "VECLINK_THREADS"):
        monkeypatch.delenv(name, raising=False)
    assert thread_count() == cores()
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert thread_count() == 1
    monkeypatch.setenv("VECLINK_THREADS", "3")
    assert thread_count() == 3
    with computing(5):
        assert thread_count() == 5
        with computing():
            assert thread_count() == 5
    assert thread_count() == 3


@pytest.mark.parametrize("wrong", ["none", "0", "-2", "1.5"])
def test_a_number_of_threads_that_is_none_is_refused(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VECLINK_THREADS", wrong)
    with pytest.raises(InputError, match=r"VECLINK_THREADS is .*whole number from 1"):
        thread_count()
    with pytest.raises(InputError, match="whole number from 1"), computing(0):
        pass


def test_blas_has_one_thread_while_something_is_computed_and_its_own_again_when_all_is_done() -> None:
    with threadpool_limits(2, user_api="blas"):
        with computing():
            other = computing()
            other.__enter__()  # another computation begins before the first ends, and ends after it
            assert blas_threads() == {1}
        assert blas_threads() == {1}
        other.__exit__(None, None, None)
        assert blas_threads() == {2}


@pytest.mark.parametrize("threads", [1, 4])
def test_every_part_is_done_once(threads: int) -> None:
    times = np.zeros(1000, int)
    names = set()

    def loop(start: int, stop: int) -> None:
        assert stop - start <= 7
        times[start:stop] += 1
        names.add(threading.get_ident())

    with computing(threads):
        share(loop, len(times), step=7)
    assert (times == 1).all()
    assert len(names) <= threads


def test_an_error_of_any_thread_is_told() -> None:
    def loop(start: int, stop: int) -> None:
        if start == 90:
            raise InputError("Row 90 is wrong.")

    with computing(4), pytest.raises(InputError, match="Row 90"):
        share(loop, 100, step=10)


def test_work_inside_shared_work_ends() -> None:
    """More waiting parts than threads: none waits for one that has no thread."""
    done = np.zeros((8, 8), int)

    def inner(row: int, start: int, stop: int) -> None:
        done[row, start:stop] += 1

    with computing(2):
        share(lambda row, _: share(lambda start, stop: inner(row, start, stop), 8, step=1), 8, step=1)
    assert (done == 1).all()


def test_products_are_the_same_to_the_last_bit_whatever_the_number_of_threads() -> None:
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((1100, 70), np.float32), rng.standard_normal((70, 90), np.float32)
    products = []
    for threads in (1, 2, 5):
        with computing(threads):
            products.append(multiply(left, right))
    assert np.array_equal(products[0], products[1]) and np.array_equal(products[0], products[2])
    np.testing.assert_allclose(products[0], left @ right, rtol=1e-4, atol=1e-4)


def test_what_is_done_after_a_product_is_done_to_each_of_its_rows_once() -> None:
    left, right = np.ones((600, 2), np.float32), np.ones((2, 3), np.float32)

    def doubled(block: np.ndarray) -> None:
        block *= 2

    assert (multiply(left, right, after=doubled) == 4).all()


@pytest.mark.runs
def test_a_linker_computes_with_the_threads_asked_for_and_blas_with_one() -> None:
    grown = grown_papers()
    seen: dict[str, set[tuple[int, ...]]] = {}

    def listen(now: Progress) -> None:
        seen.setdefault(now.stage, set()).add((thread_count(), *blas_threads()))

    with threadpool_limits(2, user_api="blas"):
        linker = Linker.fit(grown.a, grown.b, links=first_links(), threads=3, progress=listen)
        links = linker.match(grown.new, threads=5, progress=listen)
        assert seen == {"learning": {(3, 1)}, "matching": {(5, 1)}}
        linker.match_and_update(grown.new, threads=4, progress=listen)
        assert seen["matching"] == {(5, 1), (4, 1)}
    assert links == linker_of_one_thread().match(grown.new, threads=1)


def linker_of_one_thread() -> Linker:
    grown = grown_papers()
    return Linker.fit(grown.a, grown.b, links=first_links(), threads=1)
