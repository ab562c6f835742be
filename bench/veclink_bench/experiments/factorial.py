"""What carries GEH: how views are drawn × encoding × whose votes count, at two overlaps, with a look inside the views.

Every trial also tells, at some iterations, how many of the links inside the views are true, how alike the views of an
iteration are, and which share of all votes came from views that held the pair as an anchor themselves.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from veclink.data.collection import Collection
from veclink.data.pairs import pair_keys
from veclink.data.scores import score
from veclink.geometry.clouds import prepare
from veclink.linkers.anchors import anchors_from_pairs
from veclink.linkers.geh.linker import Growing
from veclink.linkers.geh.views import Proposal
from veclink.linkers.geh.views import Settings as GehSettings
from veclink.linkers.options import GehOptions
from veclink_bench.experiments.figures import new_figure
from veclink_bench.experiments.setup import Settings, Setup
from veclink_bench.experiments.tables import Cell, Table, grouped, mean_std, ordered, trials_note, values
from veclink_bench.experiments.trials import draw_case

TITLE = "What carries GEH"
CORPORA = ("reddit", "stackexchange", "nfcorpus", "scifact", "papers")
MODELS = ["minilm", "mpnet"]
OVERLAPS, SEEDS, TRIALS = (0.15, 0.3), 15, 5
# As many as the smallest corpora have; more would take GEH a minute for each trial.
ROWS, ITERATIONS = 2000, 20
QUICK_ROWS, QUICK_ITERATIONS = 400, 4
VIEWS: dict[str, dict[str, Any]] = {
    "fps": {},
    "fps from L": {"seeds_in_views": False},
    "random": {"view_choice": "random"},
    "random from L": {"view_choice": "random", "seeds_in_views": False},
}
ENCODINGS = ("kernel", "raw")
VOTES = {"own": True, "out-of-bag": False}
CONVERGED = 50.0  # F1: between it and the end of a trial that did not converge there is a wide gap
LOOKED_AT = (2, 3, 5, 10, 20)
INSIDE = {"precision": "precision in views", "overlap": "overlap of views", "self_votes": "share of self-votes"}


def cells(setup: Setup) -> list[Settings]:
    """All trials, the first of everything first."""
    corpora = setup.corpora or (CORPORA if setup.full else CORPORA[2:3])
    return [
        {"pair": [corpus, *(setup.models or MODELS)], "overlap": overlap, "seeds": SEEDS, "method": "geh",
         "views": views, "encoding": encoding, "votes": votes, "state": state}
        for state in setup.states(TRIALS)
        for overlap in OVERLAPS
        for corpus in corpora
        for views in VIEWS
        for encoding in ENCODINGS
        for votes in VOTES
    ]  # fmt: skip


def run(setup: Setup, settings: Settings) -> dict[str, Any]:
    """One trial, watched."""
    case = draw_case(setup, settings | {"rows": ROWS if setup.full else QUICK_ROWS})
    a, b = (prepare(Collection.from_array(side), centre=False) for side in (case.a, case.b))
    options = GehOptions(
        encoding=settings["encoding"],
        own_votes=VOTES[settings["votes"]],
        max_iterations=ITERATIONS if setup.full else QUICK_ITERATIONS,
        **VIEWS[settings["views"]],
    )
    anchors = anchors_from_pairs(a, b, case.start["seeds"])
    growing = Growing(a, b, anchors, GehSettings(options, device=setup.device))
    watched = _Watched(case.cut.truth, len(b))
    growing.on_view = watched.view
    rng = np.random.default_rng(settings["state"])
    inside = {}
    while not growing.finished:
        growing.advance(rng)
        done = len(growing.history)
        if done in LOOKED_AT:
            inside[str(done)] = watched.told()
        watched.views.clear()
    found = growing.result()
    scores = score(found.pairs, case.cut.truth)
    return {
        "precision": 100 * scores.precision,
        "recall": 100 * scores.recall,
        "f1": 100 * scores.f1,
        "links": len(found.pairs),
        "iterations": len(found.history),
        "inside": inside,
    }


class _Watched:
    """The views of one iteration: which links each holds, and for which it voted."""

    def __init__(self, truth: np.ndarray, n_b: int) -> None:
        self.n_b = n_b
        self.true = pair_keys(truth, n_b)
        self.views: list[tuple[np.ndarray, np.ndarray]] = []

    def view(self, _iteration: int, proposal: Proposal) -> None:
        self.views.append((pair_keys(proposal.held, self.n_b), pair_keys(proposal.pairs, self.n_b)))

    def told(self) -> dict[str, float | None]:
        """Precision of the links in views, mean Jaccard overlap of two views, share of the votes that are own."""
        held = np.concatenate([held for held, _ in self.views])
        votes = sum(len(proposed) for _, proposed in self.views)
        own = sum(int(np.isin(proposed, held).sum()) for held, proposed in self.views)
        alike = [_jaccard(one, other) for (one, _), (other, _) in combinations(self.views, 2)]
        return {
            "precision": float(np.isin(held, self.true).mean()) if len(held) else None,
            "overlap": float(np.mean(alike)) if alike else None,
            "self_votes": own / votes if votes else None,
        }


def tables(cells: list[Cell]) -> list[Table]:
    """F1 of every combination, how often it converges, and what its views look like."""
    columns = [(overlap, corpus) for overlap in OVERLAPS for corpus in _corpora(cells)]
    heads = [f"{corpus}, α {overlap}" for overlap, corpus in columns]
    note = trials_note(cells)
    return [
        Table("F1", ["views, encoding, votes", *heads, "mean"], _rows(cells, columns, _f1), note),
        Table(
            f"Trials that converge (F1 ≥ {CONVERGED:.0f})",
            ["views, encoding, votes", *heads, "all"],
            _rows(cells, columns, _rate),
        ),
        _inside(cells, 10),
        _effects(cells),
    ]


def draw(cells: list[Cell]) -> Any:
    """F1 of each way to draw views, own votes beside out-of-bag ones, one panel for each overlap and encoding."""
    figure, axes = new_figure(len(ENCODINGS), len(OVERLAPS), 8.4, 5.2)
    for row, encoding in enumerate(ENCODINGS):
        for column, overlap in enumerate(OVERLAPS):
            panel = axes[row, column]
            here = [c for c in cells if (c["encoding"], c["overlap"]) == (encoding, overlap)]
            for place, votes in enumerate(VOTES):
                of = grouped([c for c in here if c["votes"] == votes], "views")
                means = [_mean(of.get((views,), [])) for views in VIEWS]
                panel.bar(np.arange(len(VIEWS)) + 0.4 * place - 0.2, means, 0.38, label=f"{votes} votes")
            panel.set_xticks(range(len(VIEWS)), VIEWS)
            panel.set(title=f"{encoding}, α = {overlap}", ylim=(0, 101), ylabel="mean F1")
    axes[0, 0].legend(fontsize=7)
    return figure


def _rows(cells: list[Cell], columns: list[tuple[float, str]], text: Any) -> list[list[str]]:
    rows = []
    for (views, encoding, votes), group in grouped(cells, "views", "encoding", "votes").items():
        of = {place: [c for c in group if (c["overlap"], c["pair"][0]) == place] for place in columns}
        rows.append([f"{views}, {encoding}, {votes}", *(text(of[place]) for place in columns), text(group, True)])
    return rows


def _f1(cells: list[Cell], over_all: bool = False) -> str:
    return f"{_mean(cells):.1f}" if over_all else mean_std(values(cells))


def _rate(cells: list[Cell], over_all: bool = False) -> str:
    f1 = values(cells)
    return f"{int((f1 >= CONVERGED).sum())} of {len(f1)}"


def _inside(cells: list[Cell], iteration: int) -> Table:
    """What the views of one iteration look like, by overlap."""
    rows = []
    for (overlap, views, encoding, votes), group in grouped(cells, "overlap", "views", "encoding", "votes").items():
        looks = [look for cell in group if (look := cell["inside"].get(str(iteration)))]
        shown = [
            mean_std(100 * np.array([look[name] for look in looks if look[name] is not None]), 0) for name in INSIDE
        ]
        rows.append([f"α {overlap}, {views}, {encoding}, {votes}", *shown])
    return Table(f"Inside the views of iteration {iteration}, percent, all corpora", ["", *INSIDE.values()], rows)


def _effects(cells: list[Cell]) -> Table:
    """What each choice brings, all others being equal: mean difference of F1 over trials that differ in it alone."""
    rows = []
    for heading, name, one, other in (
        ("out-of-bag for own votes", "votes", "out-of-bag", "own"),
        ("kernel for raw", "encoding", "kernel", "raw"),
        ("random for fps", "views", "random", "fps"),
        ("random from L for random", "views", "random from L", "random"),
        ("fps from L for fps", "views", "fps from L", "fps"),
    ):
        row = [heading]
        for overlap in OVERLAPS:
            gains = _gains([c for c in cells if c["overlap"] == overlap], name, one, other)
            row.append(mean_std(gains))
        rows.append(row)
    return Table("Points of F1 gained by one choice, the others being equal", ["", *(f"α {o}" for o in OVERLAPS)], rows)


def _gains(cells: list[Cell], name: str, one: str, other: str) -> np.ndarray:
    rest = [each for each in ("pair", "views", "encoding", "votes", "state") if each != name]
    found = []
    for group in grouped(cells, *rest).values():
        f1 = {cell[name]: cell["f1"] for cell in group}
        if one in f1 and other in f1:
            found.append(f1[one] - f1[other])
    return np.array(found)


def _corpora(cells: list[Cell]) -> list[str]:
    return list(dict.fromkeys(pair[0] for pair in ordered(cells, "pair")))


def _mean(cells: list[Cell]) -> float:
    found = values(cells)
    return float(found.mean()) if len(found) else float("nan")


def _jaccard(one: np.ndarray, other: np.ndarray) -> float:
    both = len(np.intersect1d(one, other))
    return both / max(len(one) + len(other) - both, 1)
