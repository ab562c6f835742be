"""Anchors from another corpus: how well 15 or 30 pairs of texts of a source corpus link a target corpus."""

from __future__ import annotations

from typing import Any

import numpy as np

from veclink_bench.experiments.figures import heat, new_figure
from veclink_bench.experiments.setup import Settings, Setup
from veclink_bench.experiments.tables import Cell, Table, grouped, mean_std, ordered, trials_note, values
from veclink_bench.experiments.trials import run_trial

TITLE = "Out-of-domain anchors: target × source"
CORPORA = ("scifact", "nfcorpus", "papers", "reddit", "stackexchange")
MODELS = ("minilm", "mpnet")
METHODS = ("self-learning tuned", "geh", "geh tuned", "span")
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
    """A heat map for each method."""
    methods = ordered(cells, "method")
    figure, axes = new_figure(1, len(methods), 3.3 * len(methods), 3.2)
    for panel, method in zip(axes[0], methods, strict=True):
        group = [cell for cell in cells if cell["method"] == method]
        targets, sources, of = ordered(group, "target"), ordered(group, "outside"), grouped(group, "target", "outside")
        numbers = [[v.mean() if len(v := values(of.get((t, s), []))) else np.nan for s in sources] for t in targets]
        heat(panel, np.array(numbers), targets, sources)
        panel.set(title=f"F1, {method}", xlabel="anchors from", ylabel="linked")
    return figure
