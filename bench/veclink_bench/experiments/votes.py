"""The votes of true and of spurious pairs: of all pairs that GEH's views, and span's last views, proposed.

And the paper's Fig. 2: the votes of views that are drawn from a fixed pool of true anchors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from veclink.backends import CloudPair
from veclink.data.collection import Collection
from veclink.geometry.clouds import prepare
from veclink.geometry.signatures import distances
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
POOL, POOL_VIEWS, IN_VIEW = 500, 500, 30  # Fig. 2: true anchors, views drawn from them, and anchors of each


def cells(setup: Setup) -> list[Settings]:
    """A histogram for each method and pair, of one trial; in a full run also those of Fig. 2."""
    own = setup.full and not (setup.corpora or setup.models)
    pairs = [list(p) for p in PAIRS] if own else [setup.one_pair(("nfcorpus", "minilm", "mpnet"))]
    places = [(15, METHODS), (POOL, METHODS[:2])] if setup.full else [(15, METHODS)]
    return [
        {"pair": pair, "overlap": 0.3, "seeds": seeds, "method": method, "state": 0}
        for seeds, methods in places
        for pair in pairs
        for method in setup.using(methods)
    ]


def run(setup: Setup, settings: Settings) -> dict[str, Any]:
    """How many true and spurious pairs have which share of the votes they could have."""
    case = draw_case(setup, settings)
    found = _votes_of_span if settings["method"] == "span" else _votes_of_geh
    if settings["seeds"] == POOL:
        found = _votes_of_pool
    pairs, share = found(setup, settings, case)
    width = len(case.b)
    right = np.isin(pairs @ [width, 1], case.cut.truth @ [width, 1])
    edges = np.linspace(0, 1, BINS + 1)
    true, spurious = (np.histogram(share[which], edges)[0] for which in (right, ~right))
    # The chance that a true pair has more votes than a spurious one: 1 where votes separate the two.
    separation = _area(share[right], share[~right])
    return {
        "edges": edges.tolist(), "true": true.tolist(), "spurious": spurious.tolist(), "separation": separation,
        "median": 100 * float(np.median(share[right])) if right.any() else 0.0,
    }  # fmt: skip


def tables(cells: list[Cell]) -> list[Table]:
    """Counts, shares and separation."""
    rows = []
    for (pair, method, seeds), (cell, *_) in grouped(cells, "pair", "method", "seeds").items():
        true, spurious = np.array(cell["true"]), np.array(cell["spurious"])
        above = np.array(cell["edges"][:-1]) >= 0.5
        pool = f", {POOL} true anchors" if seeds == POOL else ""
        median = f"{cell['median']:.0f} %" if "median" in cell else "–"
        rows.append(
            [f"{pair_name(pair)}, {method}{pool}", f"{true.sum():,}", f"{spurious.sum():,}", f"{true[above].sum():,}",
             f"{spurious[above].sum():,}", median, f"{cell['separation']:.3f}"]
        )  # fmt: skip
    heads = ["", "true pairs", "spurious pairs", "true, ≥ half of the votes", "spurious, ≥ half",
             "median of true pairs", "AUC of the votes"]  # fmt: skip
    return [Table("Votes of all pairs that were proposed", heads, rows, trials_note(cells))]


def draw(cells: list[Cell]) -> Any:
    """A histogram for each pair and method, counts on a log scale."""
    places = list(grouped(cells, "pair", "seeds"))
    methods = [method for method in METHODS if method in ordered(cells, "method")]
    figure, axes = new_figure(len(places), len(methods), 3.4 * len(methods), 2.6 * len(places))
    for panel in axes.flat:
        panel.set_axis_off()
    for (pair, seeds, method), (cell, *_) in grouped(cells, "pair", "seeds", "method").items():
        panel = axes[places.index((pair, seeds)), methods.index(method)]
        panel.set_axis_on()
        edges = np.array(cell["edges"])
        for name, shade in (("spurious", "#c8442e"), ("true", "#1b7f5c")):
            panel.stairs(np.array(cell[name]) + 0.5, edges, fill=True, alpha=0.6, color=shade, label=name)
        panel.set(title=f"{pair_name(pair)}, {method}, {seeds} anchors", yscale="log")
        panel.set(xlabel="share of the votes", ylabel="pairs")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=7)
    return figure


def _votes_of_pool(setup: Setup, settings: Settings, case: Case) -> tuple[np.ndarray, np.ndarray]:
    """Votes of views of true anchors; tuned, a view that holds a pair as an anchor has no vote for it."""
    tuned, rng = settings["method"] == "geh tuned", np.random.default_rng(settings["state"])
    geh = GehSettings(GehOptions(centred=tuned), device=setup.device)
    sides = [prepare(Collection.from_array(side), centre=tuned).dense() for side in (case.a, case.b)]
    samples = [np.linspace(0, len(side) - 1, geh.options.width_rows).astype(int) for side in sides]
    pool, width = case.start["seeds"], len(case.b)
    keys, held = [], []
    for _ in range(POOL_VIEWS):
        drawn = pool[rng.choice(len(pool), IN_VIEW, replace=False)]
        hashes = [
            geh.hashed(distances(side, side[rows]), sample)
            for side, rows, sample in zip(sides, drawn.T, samples, strict=True)
        ]
        proposed, own = geh.mutual(hashes[0], hashes[1])[0] @ [width, 1], drawn @ [width, 1]
        keys.append(np.setdiff1d(proposed, own) if tuned else proposed)
        held.append(own if tuned else own[:0])
    return _shares(keys, held, width)


def _votes_of_geh(setup: Setup, settings: Settings, case: Case) -> tuple[np.ndarray, np.ndarray]:
    changed: dict[str, Any] = dict(GEH_TUNED) if settings["method"] == "geh tuned" else {}
    if not setup.full:
        changed["max_iterations"] = QUICK_ITERATIONS
    options = GehOptions(**changed)
    a, b = (prepare(Collection.from_array(side), centre=options.centred) for side in (case.a, case.b))
    anchors = anchors_from_pairs(a, b, case.start["seeds"])
    growing = Growing(a, b, anchors, GehSettings(options, device=setup.device))
    rng = np.random.default_rng(settings["state"])
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
    return _shares(keys, held, width)


def _shares(keys: list[np.ndarray], held: list[np.ndarray], width: int) -> tuple[np.ndarray, np.ndarray]:
    """The pairs that views proposed, and the share of votes of the views that had one: those that did not hold it."""
    found, counts = np.unique(np.concatenate(keys), return_counts=True)
    inside, times = np.unique(np.concatenate([*held, [-1]]), return_counts=True)
    spot = np.minimum(np.searchsorted(inside, found), len(inside) - 1)
    voters = len(keys) - np.where(inside[spot] == found, times[spot], 0)
    return np.stack([found // width, found % width], axis=1), counts / np.maximum(voters, 1)


def _area(above: np.ndarray, below: np.ndarray) -> float:
    if not len(above) or not len(below):
        return 0.5
    ranked = np.sort(below)
    left, right = np.searchsorted(ranked, above), np.searchsorted(ranked, above, side="right")
    return float((left + right).mean() / 2 / len(below))
