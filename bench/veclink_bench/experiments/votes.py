"""The votes of true and of spurious pairs: of all pairs that GEH's views, and span's last views, proposed."""

from __future__ import annotations

from typing import Any

import numpy as np

from veclink.backends import CloudPair
from veclink.data.collection import Collection
from veclink.geometry.clouds import prepare
from veclink.linkers.anchors import anchors_from_pairs, anchors_from_rows
from veclink.linkers.geh.linker import Growing
from veclink.linkers.geh.views import Settings as GehSettings
from veclink.linkers.options import GehOptions
from veclink.linkers.span.growing import DEFAULT_SCHEDULE, grow
from veclink_bench.experiments.figures import new_figure
from veclink_bench.experiments.setup import Settings, Setup
from veclink_bench.experiments.tables import Cell, Table, grouped, ordered, pair_name, trials_note
from veclink_bench.experiments.trials import GEH_TUNED, QUICK_ITERATIONS, Case, draw_case

TITLE = "Votes"
PAIRS = (("scifact", "minilm", "mpnet"), ("nfcorpus", "mpnet", "e5"))
VIEWS, BINS = 20, 20
METHODS = ("geh", "geh tuned", "span")


def cells(setup: Setup) -> list[Settings]:
    """A histogram for each method and pair, of one trial."""
    own = setup.full and not (setup.corpora or setup.models)
    pairs = [list(p) for p in PAIRS] if own else [setup.one_pair(("nfcorpus", "minilm", "mpnet"))]
    return [
        {"pair": pair, "overlap": 0.3, "seeds": 15, "method": method, "state": 0}
        for pair in pairs
        for method in setup.using(METHODS)
    ]


def run(setup: Setup, settings: Settings) -> dict[str, Any]:
    """How many true and spurious pairs have which share of the votes they could have."""
    case = draw_case(setup, settings)
    found = _votes_of_span if settings["method"] == "span" else _votes_of_geh
    pairs, share = found(setup, settings, case)
    width = len(case.b)
    right = np.isin(pairs @ [width, 1], case.cut.truth @ [width, 1])
    edges = np.linspace(0, 1, BINS + 1)
    true, spurious = (np.histogram(share[which], edges)[0] for which in (right, ~right))
    # The chance that a true pair has more votes than a spurious one: 1 where votes separate the two.
    separation = _area(share[right], share[~right])
    return {"edges": edges.tolist(), "true": true.tolist(), "spurious": spurious.tolist(), "separation": separation}


def tables(cells: list[Cell]) -> list[Table]:
    """Counts, shares and separation."""
    rows = []
    for (pair, method), (cell, *_) in grouped(cells, "pair", "method").items():
        true, spurious = np.array(cell["true"]), np.array(cell["spurious"])
        above = np.array(cell["edges"][:-1]) >= 0.5
        rows.append(
            [f"{pair_name(pair)}, {method}", f"{true.sum():,}", f"{spurious.sum():,}", f"{true[above].sum():,}",
             f"{spurious[above].sum():,}", f"{cell['separation']:.3f}"]
        )  # fmt: skip
    heads = ["", "true pairs", "spurious pairs", "true, ≥ half of the votes", "spurious, ≥ half", "AUC of the votes"]
    return [Table("Votes of all pairs that were proposed", heads, rows, trials_note(cells))]


def draw(cells: list[Cell]) -> Any:
    """A histogram for each pair and method, counts on a log scale."""
    pairs = list(grouped(cells, "pair"))
    methods = [method for method in METHODS if method in ordered(cells, "method")]
    figure, axes = new_figure(len(pairs), len(methods), 3.4 * len(methods), 2.6 * len(pairs))
    for (pair, method), (cell, *_) in grouped(cells, "pair", "method").items():
        panel = axes[pairs.index((pair,)), methods.index(method)]
        edges = np.array(cell["edges"])
        for name, shade in (("spurious", "#c8442e"), ("true", "#1b7f5c")):
            panel.stairs(np.array(cell[name]) + 0.5, edges, fill=True, alpha=0.6, color=shade, label=name)
        panel.set(title=f"{pair_name(pair)}, {method}", yscale="log", xlabel="share of the votes", ylabel="pairs")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=7)
    return figure


def _votes_of_geh(setup: Setup, settings: Settings, case: Case) -> tuple[np.ndarray, np.ndarray]:
    changed: dict[str, Any] = dict(GEH_TUNED) if settings["method"] == "geh tuned" else {}
    if not setup.full:
        changed["max_iterations"] = QUICK_ITERATIONS
    options = GehOptions(**changed)
    a, b = (prepare(Collection.from_array(side), centre=options.centred) for side in (case.a, case.b))
    anchors = anchors_from_pairs(a, b, case.start["seeds"])
    growing, rng = (
        Growing(a, b, anchors, GehSettings(options, device=setup.device)),
        np.random.default_rng(settings["state"]),
    )
    while not growing.finished:
        growing.advance(rng)
    pairs = growing.votes.pairs()
    return pairs, growing.votes.counts / np.maximum(growing._chances(pairs), 1)


def _votes_of_span(setup: Setup, settings: Settings, case: Case) -> tuple[np.ndarray, np.ndarray]:
    """Votes of views drawn from the grown pool; a view that holds a pair as an anchor has no vote for it."""
    rng = np.random.default_rng(settings["state"])
    a, b = (prepare(Collection.from_array(side)).dense() for side in (case.a, case.b))
    clouds, width = CloudPair(a, b, device=setup.device), len(case.b)
    pool = grow(clouds, anchors_from_rows(clouds, case.start["seeds"]), rng).pairs
    keys, held = [], []
    for _ in range(VIEWS):
        drawn = pool[rng.permutation(len(pool))[: min(DEFAULT_SCHEDULE.anchors, -(-len(pool) // 2))]]
        proposed, _ = clouds.propose(clouds.span_projections(*clouds.vectors(drawn)))
        own = drawn @ [width, 1]
        keys.append(np.setdiff1d(proposed @ [width, 1], own))
        held.append(own)
    found, counts = np.unique(np.concatenate(keys), return_counts=True)
    inside, times = np.unique(np.concatenate(held), return_counts=True)
    spot = np.minimum(np.searchsorted(inside, found), len(inside) - 1)
    voters = VIEWS - np.where(inside[spot] == found, times[spot], 0)
    return np.stack([found // width, found % width], axis=1), counts / np.maximum(voters, 1)


def _area(above: np.ndarray, below: np.ndarray) -> float:
    if not len(above) or not len(below):
        return 0.5
    ranked = np.sort(below)
    left, right = np.searchsorted(ranked, above), np.searchsorted(ranked, above, side="right")
    return float((left + right).mean() / 2 / len(below))
