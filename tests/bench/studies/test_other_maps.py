"""Maps of other kinds: rows are placed on the other side by their nearest links, and never by their own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from veclink.geometry.signatures import unit_rows
from veclink_bench.studies.other_maps import kernel_images, local_images, summary

Images = Callable[[np.ndarray, tuple[np.ndarray, np.ndarray], np.ndarray, np.ndarray], np.ndarray]


def turned(n: int) -> tuple[np.ndarray, np.ndarray]:
    """n rows of 12 dimensions, and the same rows turned."""
    rng = np.random.default_rng(0)
    rows = unit_rows(rng.normal(size=(n, 12)).astype(np.float32))
    turn, _ = np.linalg.qr(rng.normal(size=(12, 12)))
    return rows, (rows @ turn).astype(np.float32)


@pytest.mark.parametrize("images", [local_images, kernel_images])
def test_a_row_that_is_no_anchor_is_placed_near_its_true_image(images: Images) -> None:
    rows, there = turned(420)
    placed = images(rows[400:], (rows[:400], there[:400]), np.ones(400), np.full(20, -1))
    cosine = np.einsum("nd,nd->n", unit_rows(placed), there[400:])
    assert cosine.min() > 0.9


@pytest.mark.parametrize("images", [local_images, kernel_images])
def test_an_anchor_is_placed_as_if_it_were_none(images: Images) -> None:
    rows, there = turned(300)
    wrong = there.copy()
    wrong[0] = -there[0]  # what the row's own link says must not matter
    as_anchor = images(rows[:1], (rows, wrong), np.ones(300), np.array([0]))
    as_none = images(rows[:1], (rows[1:], there[1:]), np.ones(299), np.array([-1]))
    assert np.allclose(as_anchor, as_none, atol=1e-4)


@pytest.mark.parametrize("images", [local_images, kernel_images])
def test_an_anchor_of_no_weight_places_nothing(images: Images) -> None:
    rows, there = turned(200)
    wrong = there.copy()
    wrong[:20] = -there[:20]
    weights = np.r_[np.full(20, 1e-6), np.ones(180)]
    placed = images(rows[190:], (rows[:190], wrong[:190]), weights[:190], np.full(10, -1))
    without = images(rows[190:], (rows[20:190], there[20:190]), np.ones(170), np.full(10, -1))
    assert np.einsum("nd,nd->n", unit_rows(placed), unit_rows(without)).min() > 0.98


def test_the_summary_has_the_means_of_each_kind_and_of_all() -> None:
    def run(kind: str, best: float) -> dict[str, object]:
        return {"case": f"{kind} {best}", "kind": kind, "product": {"best": best}}

    told = summary([run("even", 80.0), run("even", 90.0), run("few", 70.0)])
    assert told["even"] == {"runs": 2, "product": {"best": 85.0}}
    assert told["all"] == {"runs": 3, "product": {"best": 80.0}}
