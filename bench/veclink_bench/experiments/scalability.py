"""Time and quality by number of rows: the corpora one after another, cut at growing sizes; titles where there are any.

`DIR/titles` is looked for: a corpus of up to millions of rows (minilm, e5). Without it, five corpora are joined.
"""

from __future__ import annotations

from typing import Any

from veclink_bench.experiments.figures import colour, curve, new_figure
from veclink_bench.experiments.setup import Settings, Setup
from veclink_bench.experiments.tables import Cell, Table, grouped, mean_std, ordered, trials_note, values
from veclink_bench.experiments.trials import LINKERS, run_trial

TITLE = "Scalability"
JOINED = "papers+scifact+nfcorpus+reddit+stackexchange"
MODELS = ("minilm", "mpnet")
SIZES = (1000, 2000, 4000, 8000, 17_878)
TITLES = (50_000, 200_000, 1_800_000)
METHODS = ("self-learning tuned", *LINKERS)
MOST_FOR_GEH = 20_000  # rows; above, the paper's global path takes hours
TRIALS = 3
SECONDS_SHOWN = (2, 5, 10, 20, 50)  # on the figure's axis


def cells(setup: Setup) -> list[Settings]:
    """All trials, the first of everything first, the small ones first."""
    corpus = "+".join(setup.corpora) if setup.corpora else JOINED if setup.full else "papers"
    chosen: list[tuple[str, tuple[str, ...], tuple[int, ...]]] = [
        (corpus, (setup.models or MODELS)[:2], SIZES if setup.full else (500, 1000))
    ]
    if setup.full and not setup.corpora and (setup.data / "titles" / "minilm.npy").exists():
        chosen.append(("titles", ("minilm", "e5"), TITLES))
    return [
        {"pair": [name, *models], "overlap": 0.3, "seeds": 30, "rows": size, "method": method, "state": state}
        for state in setup.states(TRIALS)
        for name, models, sizes in chosen
        for size in sizes
        for method in setup.using(METHODS)
        if not method.startswith("geh") or size <= MOST_FOR_GEH
    ]


def run(setup: Setup, settings: Settings) -> dict[str, Any]:
    """One trial."""
    return run_trial(setup, settings)


def tables(cells: list[Cell]) -> list[Table]:
    """F1 and seconds for each size."""
    methods, of = ordered(cells, "method"), grouped(cells, "pair", "rows", "method")
    rows = []
    for pair, size in grouped(cells, "pair", "rows"):
        own = [of.get((pair, size, method), []) for method in methods]
        joined = f"{pair[0].count('+') + 1} corpora" if "+" in pair[0] else pair[0]
        rows.append(
            [f"{size:,} ({joined}, {pair[1]}–{pair[2]})"]
            + [f"{mean_std(values(group))}; {mean_std(values(group, 'seconds'))} s" for group in own]
        )
    device = ", ".join(ordered(cells, "device")) if cells else ""
    note = f"{trials_note(cells)} Matching on {device}, one core for the rest, several trials at the same time."
    return [Table("F1; seconds, by rows in all (30 % shared, 30 seeds)", ["rows", *methods], rows, note)]


def draw(cells: list[Cell]) -> Any:
    """F1 and seconds over the size."""
    figure, axes = new_figure(1, 2, 7.4, 3.0)
    methods = ordered(cells, "method")
    for panel, measure in zip(axes[0], ("f1", "seconds"), strict=True):
        for method in methods:
            own = [cell for cell in cells if cell["method"] == method]
            curve(panel, own, "rows", label=method, measure=measure, color=colour(method, methods))
        panel.set(xscale="log", xlabel="rows in all", ylabel="F1" if measure == "f1" else "seconds")
        panel.xaxis.set_major_formatter("{x:,.0f}")
    axes[0, 0].set_ylim(0, 101)
    axes[0, 1].set_yscale("log")
    axes[0, 1].set_yticks(SECONDS_SHOWN, map(str, SECONDS_SHOWN))
    axes[0, 1].minorticks_off()
    axes[0, 0].legend(fontsize=7)
    return figure
