"""Are furthest-point views better conditioned than random ones, as the paper argues for them?

At a point v with the tangent directions Π (the first principal ones of its nearest neighbours) the hash of a view
changes as J = diag(h(v) / σ) A Π, with its anchors A. The condition number σ_max / σ_min of J says how unevenly the
view tells directions apart, the paper's argument for furthest-point sampling. Views are drawn from the true links.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from veclink.data.collection import Collection
from veclink.geometry.clouds import prepare
from veclink.geometry.signatures import distances, kernel_width
from veclink.linkers.geh.sampling import furthest_points
from veclink_bench.experiments.figures import colour, curve, new_figure
from veclink_bench.experiments.setup import Settings, Setup
from veclink_bench.experiments.tables import Cell, Table, grouped, mean_std, ordered, trials_note, values
from veclink_bench.splits import split

TITLE = "Conditioning of views"
CORPORA = ("scifact", "nfcorpus", "papers", "reddit", "stackexchange")
MODEL = "mpnet"
WAYS = ("fps", "random")
ANCHORS = (15, 30, 60, 120)
NEIGHBOURS, DIRECTIONS, POINTS, TRIALS = 50, 10, 100, 3


def cells(setup: Setup) -> list[Settings]:
    """All trials, the first of everything first."""
    corpora = setup.corpora or (CORPORA if setup.full else CORPORA[1:2])
    model = (setup.models or (MODEL,))[0]
    return [
        {"pair": [corpus, model], "overlap": 0.3, "anchors": anchors, "views": way, "state": state}
        for state in setup.states(TRIALS)
        for corpus in corpora
        for anchors in ANCHORS
        for way in WAYS
    ]


def run(setup: Setup, settings: Settings) -> dict[str, Any]:
    """The median condition number of a view over some points, and the median least singular value."""
    corpus, model = settings["pair"]
    rng = np.random.default_rng(settings["state"])
    every = setup.vectors(corpus, model)
    cut = split(len(every), settings["overlap"], rng)
    cloud = prepare(Collection.from_array(every[cut.rows_a]), centre=False).dense()
    shared = cloud[cut.truth[:, 0]]
    start = rng.integers(len(shared), size=1)
    if settings["views"] == "fps":
        view = furthest_points(shared, start, settings["anchors"])[0]
    else:
        view = rng.choice(len(shared), settings["anchors"], replace=False)
    points = rng.choice(len(cloud), min(POINTS, len(cloud)), replace=False)
    apart = distances(cloud[points], shared[view])
    width = kernel_width(apart)
    weights = np.exp(-apart / width) / width
    singular = np.array(
        [
            _singular_values(cloud, point, own[:, None] * shared[view])
            for point, own in zip(points, weights, strict=True)
        ]
    )
    return {
        "condition": float(np.median(singular[:, 0] / singular[:, -1])),
        "least": float(np.median(singular[:, -1])),
    }


def _singular_values(cloud: np.ndarray, point: int, anchors: np.ndarray) -> np.ndarray:
    """Singular values (DIRECTIONS,) of the change of the hash by weighted anchors (s, d) along the tangent at a row."""
    near = np.argpartition(-(cloud @ cloud[point]), NEIGHBOURS)[: NEIGHBOURS + 1]
    steps = cloud[near] - cloud[point]
    steps -= np.outer(steps @ cloud[point], cloud[point])
    squares, sides = np.linalg.eigh(steps @ steps.T)
    directions = (sides[:, -DIRECTIONS:] / np.sqrt(squares[-DIRECTIONS:])).T @ steps
    return np.linalg.svd(anchors @ directions.T, compute_uv=False)


def tables(cells: list[Cell]) -> list[Table]:
    """Condition numbers by anchors in a view, both ways to draw them."""
    sizes = ordered(cells, "anchors")
    of = grouped(cells, "pair", "views", "anchors")
    found = []
    for measure, heading in (("condition", "Condition number of a view"), ("least", "Its least singular value")):
        rows = [
            [f"{pair[0]}, {way}", *(mean_std(values(of.get((pair, way, size), []), measure), 2) for size in sizes)]
            for pair, way in grouped(cells, "pair", "views")
        ]
        found.append(Table(heading, ["", *(f"{size} anchors" for size in sizes)], rows, trials_note(cells)))
    return found


def draw(cells: list[Cell]) -> Any:
    """Condition numbers over the anchors of a view, a panel for each corpus."""
    pairs = ordered(cells, "pair")
    figure, axes = new_figure(1, len(pairs), 2.2 * len(pairs), 2.5)
    for panel, pair in zip(axes[0], pairs, strict=True):
        for way in WAYS:
            own = [cell for cell in cells if (tuple(cell["pair"]), cell["views"]) == (pair, way)]
            curve(panel, own, "anchors", measure="condition", label=way, color=colour(way, WAYS))
        panel.set(title=pair[0], xlabel="anchors in a view", xscale="log")
    axes[0, 0].set_ylabel("condition number")
    axes[0, 0].legend(fontsize=7)
    return figure
