"""How much the settings matter: GEH's c, ρ0 and k; span's λ, views per round and k."""

from __future__ import annotations

from typing import Any

from veclink.linkers.options import GrowthSchedule
from veclink_bench.experiments.figures import colour, curve, new_figure
from veclink_bench.experiments.setup import Settings, Setup
from veclink_bench.experiments.tables import Cell, Table, grouped, mean_std, ordered, pair_name, trials_note, values
from veclink_bench.experiments.trials import run_trial

TITLE = "Sensitivity"
PAIRS = (("nfcorpus", "minilm", "mpnet"), ("scifact", "minilm", "mpnet"))
TRIALS = 3
SWEEPS: dict[tuple[str, str], tuple[float, ...]] = {
    ("geh", "growth"): (0.0, 0.1, 0.3, 0.6, 1.0),
    ("geh", "share"): (0.2, 0.3, 0.4, 0.6, 0.8),
    ("geh", "k"): (5, 10, 25, 50, 100),
    ("geh tuned", "growth"): (0.0, 0.1, 0.3, 0.6, 1.0),
    ("geh tuned", "share"): (0.2, 0.3, 0.4, 0.6, 0.8),
    ("geh tuned", "k"): (5, 10, 25, 50, 100),
    ("span", "ridge"): (0.03, 0.1, 0.3, 1.0, 3.0),
    ("span", "views"): (2, 4, 6, 10, 16),
    ("span", "k"): (3, 5, 10, 20, 50),
}
LETTERS = {"growth": "c", "share": "ρ0", "ridge": "λ", "views": "views per round", "k": "k"}


def cells(setup: Setup) -> list[Settings]:
    """All trials, the first of everything first."""
    pairs = [list(pair) for pair in PAIRS] if setup.full and not (setup.corpora or setup.models) else []
    return [
        {
            "pair": pair, "overlap": 0.3, "seeds": 15, "method": method, "variant": name,
            "value": value, "state": state,
        }
        for state in setup.states(TRIALS)
        for pair in pairs or [setup.one_pair(PAIRS[0])]
        for (method, name), sweep in SWEEPS.items()
        if method in setup.using(("geh", "geh tuned", "span"))
        for value in (sweep if setup.full else sweep[1:4:2])
    ]  # fmt: skip


def run(setup: Setup, settings: Settings) -> dict[str, Any]:
    """One trial of one value."""
    name, value = settings["variant"], settings["value"]
    options: dict[str, Any] = {name: value}
    if settings["method"] == "span":
        if name == "views":
            options = {"schedule": GrowthSchedule(views=value)}
        options["fallbacks"] = False
    return run_trial(setup, settings | {"options": options})


def tables(cells: list[Cell]) -> list[Table]:
    """F1 at every value."""
    pairs = ordered(cells, "pair")
    rows = [
        [
            f"{method}: {LETTERS[name]}",
            *(
                ", ".join(f"{value:g}: {mean_std(values(own))}" for (value,), own in grouped(of, "value").items())
                for pair in pairs
                for of in [grouped(group, "pair").get((pair,), [])]
            ),
        ]
        for (method, name), group in grouped(cells, "method", "variant").items()
    ]
    columns = [f"{pair_name(pair)}, value: F1" for pair in pairs]
    return [Table("F1 by setting, α = 0.3, 15 seeds", ["setting", *columns], rows, trials_note(cells))]


def draw(cells: list[Cell]) -> Any:
    """A panel for each setting, of the first pair."""
    cells = [cell for cell in cells if cell["pair"] == cells[0]["pair"]]
    groups = grouped(cells, "method", "variant")
    figure, axes = new_figure(-(-len(groups) // 3), 3, 7.6, 6.4)
    for panel, ((method, name), group) in zip(axes.flat, groups.items(), strict=False):
        curve(panel, group, "value", label=method, color=colour(method))
        panel.set(title=f"{method}: {LETTERS[name]}", ylim=(0, 101), ylabel="F1")
        if name in ("ridge", "k"):
            panel.set_xscale("log")
            panel.set_xticks(sorted(ordered(group, "value")), minor=False)
            panel.set_xticks([], minor=True)
            panel.xaxis.set_major_formatter("{x:g}")
    return figure
