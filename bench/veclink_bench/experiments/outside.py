"""Anchors from another corpus: how well 15 or 30 pairs of texts of a source corpus link a target corpus."""

from __future__ import annotations

from typing import Any

import numpy as np

from veclink_bench.experiments.figures import heat, new_figure
from veclink_bench.experiments.setup import Settings, Setup
from veclink_bench.experiments.tables import Cell, Table, grouped, mean_std, ordered, trials_note, values
from veclink_bench.experiments.trials import LINKERS, run_trial

TITLE = "Out-of-domain anchors: target × source"
CORPORA = ("scifact", "nfcorpus", "papers", "reddit", "stackexchange")
MODELS = ("minilm", "mpnet")
METHODS = ("self-learning tuned", *LINKERS)
ANCHORS, TRIALS = (30, 15), 3


def cells(setup: Setup) -> list[Settings]:
    """All trials, the first of everything first; on the diagonal the anchors are seeds of the corpus itself."""
    corpora = setup.corpora or (CORPORA if setup.full else CORPORA[1:4:2])
    models = (setup.models or MODELS)[:2]
    return [
        {
            "pair": [target, *models], "overlap": 0.3, "seeds": anchors, "target": target, "outside": source,
            "method": method, "state": state,
        }
        for state in setup.states(TRIALS)
        for anchors in (ANCHORS if setup.full else ANCHORS[:1])
        for target in corpora
        for source in corpora
        for method in setup.using(METHODS)
    ]  # fmt: skip


def run(setup: Setup, settings: Settings) -> dict[str, Any]:
    """One trial."""
    return run_trial(setup, settings)


def tables(cells: list[Cell]) -> list[Table]:
    """F1 for each method and number of anchors: a row for each target, a column for each source."""
    found = []
    for (anchors, method), group in grouped(cells, "seeds", "method").items():
        targets, sources, of = ordered(group, "target"), ordered(group, "outside"), grouped(group, "target", "outside")
        rows = [[t, *(mean_std(values(of.get((t, s), []))) for s in sources)] for t in targets]
        heading = f"F1 of {method}, {anchors} anchors from the source"
        found.append(Table(heading, ["target", *sources], rows, trials_note(group)))
    return found


def draw(cells: list[Cell]) -> Any:
    """A heat map for each method and number of anchors."""
    methods, counts = ordered(cells, "method"), ordered(cells, "seeds")
    figure, axes = new_figure(len(counts), len(methods), 3.3 * len(methods), 3.2 * len(counts))
    of = grouped(cells, "seeds", "method")
    for row, anchors in enumerate(counts):
        for column, method in enumerate(methods):
            panel, group = axes[row, column], of.get((anchors, method), [])
            if group:
                _draw_one(panel, group)
                panel.set(title=f"F1, {method}, {anchors} anchors", xlabel="anchors from", ylabel="linked")
            else:
                panel.set_axis_off()
    return figure


def _draw_one(panel: Any, cells: list[Cell]) -> None:
    targets, sources, of = ordered(cells, "target"), ordered(cells, "outside"), grouped(cells, "target", "outside")
    numbers = [[v.mean() if len(v := values(of.get((t, s), []))) else np.nan for s in sources] for t in targets]
    heat(panel, np.array(numbers), targets, sources)
