"""Threads: how many there are, that work is shared out whole, and that BLAS has its own threads back afterwards."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from span_papers import all_papers
from veclink import Translator
from veclink.errors import InputError
from veclink.threads import computing, multiply, share, thread_count


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
    assert thread_count() == len(os.sched_getaffinity(0))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert thread_count() == 1
    monkeypatch.setenv("VECLINK_THREADS", "3")
    assert thread_count() == 3
    with computing(5):
        assert thread_count() == 5
        with computing():
            assert thread_count() == 5
    assert thread_count() == 3


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


def test_products_are_the_same_to_the_last_bit_whatever_the_number_of_threads() -> None:
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((1100, 70), np.float32), rng.standard_normal((70, 90), np.float32)
    products = []
    for threads in (1, 2, 5):
        with computing(threads):
            products.append(multiply(left, right))
    assert np.array_equal(products[0], products[1]) and np.array_equal(products[0], products[2])
    np.testing.assert_allclose(products[0], left @ right, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", ["blend", "la2m", "ridge"])
def test_vectors_are_translated_alike_however_many_threads_blas_has(kind: str) -> None:
    papers = all_papers()
    translator = Translator.fit(papers.truth, papers.a, papers.b, map=kind, check=False)
    moved = []
    for count in (1, 2):
        with threadpool_limits(count, user_api="blas"):
            moved.append(translator.transform(papers.a))
    assert np.array_equal(moved[0], moved[1])
