"""What each part brings: GEH and span with one part taken away; GEH also where little is shared, as in the paper."""

from __future__ import annotations

from typing import Any

from veclink.linkers.options import GrowthSchedule
from veclink_bench.experiments.figures import colour, new_figure
from veclink_bench.experiments.setup import Settings, Setup
from veclink_bench.experiments.tables import Cell, Table, grouped, mean_std, pair_name, trials_note, values
from veclink_bench.experiments.trials import GEH_TUNED, run_trial

TITLE = "Ablation"
# GEH does not converge on the second, so that span alone is taken apart there.
PAIR, HARD = ("nfcorpus", "minilm", "mpnet"), ("nfcorpus", "mpnet", "e5")
OVERLAP, SEEDS, TRIALS = 0.3, 15, 5
LITTLE, TRIALS_OF_LITTLE = 0.15, 10
CUT = {"rows": 2000}  # there, and at most 20 iterations, for want of time
GEH: dict[str, dict[str, Any]] = {
    "full": {},
    "out-of-bag votes": {"own_votes": False},
    "raw distances": {"encoding": "raw"},
    "random views": {"view_choice": "random"},
    "random views from L": {"view_choice": "random", "seeds_in_views": False},
    "raw distances, random views": {"encoding": "raw", "view_choice": "random"},
    "frozen schedule": {"schedule": "frozen"},
    "single view": {"views": "single"},
    "no bootstrapping": {"bootstrap": False},
    "tuned": GEH_TUNED,
}
BOTH = {"raw distances, random views from L": {"encoding": "raw", **GEH["random views from L"]}}
PARTS: dict[str, dict[str, Any]] = {
    "full": {},
    "own votes": {"out_of_bag": False},
    "kernel hash": {"signature": "kernel"},
    "not centred": {"centred": False},
    "single view": {"schedule": GrowthSchedule(views=1, votes=0.0)},
    "one round": {"schedule": GrowthSchedule(rounds=1), "refits": 0},  # refits would make up for it
    "no cut": {"thresholded": False},
    "no judging": {"calibrated": False, "crossfitted": False},
    "none of these": {
        "out_of_bag": False, "signature": "kernel", "centred": False, "calibrated": False, "crossfitted": False,
        "thresholded": False,
    },
}  # fmt: skip
# Only the given seeds are tried as a start: another one would hide what a missing part costs.
SPAN = {name: {"fallbacks": False, **options} for name, options in PARTS.items()}


def cells(setup: Setup) -> list[Settings]:
    """All trials of one pair after the other."""
    one = setup.one_pair(PAIR)
    places = [("geh", GEH, one, OVERLAP, TRIALS), ("span", SPAN, one, OVERLAP, TRIALS)]
    if setup.full and not (setup.corpora or setup.models):
        places += [("span", SPAN, list(HARD), OVERLAP, TRIALS), ("geh", GEH | BOTH, one, LITTLE, TRIALS_OF_LITTLE)]
    return [
        {"pair": pair, "overlap": overlap, "seeds": SEEDS, "method": method, "variant": variant, "state": state}
        | (CUT if overlap == LITTLE else {})
        for method, variants, pair, overlap, trials in places
        if method in setup.using(("geh", "span"))
        for state in setup.states(trials)
        for variant in variants
    ]


def run(setup: Setup, settings: Settings) -> dict[str, Any]:
    """One trial of one variant."""
    options = (GEH | BOTH if settings["method"] == "geh" else SPAN)[settings["variant"]]
    most = {"max_iterations": 20} if "rows" in settings else {}
    return run_trial(setup, settings | {"options": options | most})


def tables(cells: list[Cell]) -> list[Table]:
    """Precision, recall and F1 of every variant."""
    found = []
    for (method, pair, overlap), group in grouped(cells, "method", "pair", "overlap").items():
        rows = [
            [variant, *(mean_std(values(own, name)) for name in ("precision", "recall", "f1"))]
            for (variant,), own in grouped(group, "variant").items()
        ]
        cut = f", the first {CUT['rows']:,} rows" if overlap == LITTLE else ""
        heading = f"Ablation of {method}, {pair_name(pair)}, α = {overlap}, {SEEDS} seeds{cut}"
        found.append(Table(heading, ["variant", "precision", "recall", "F1"], rows, trials_note(group)))
    return found


def draw(cells: list[Cell]) -> Any:
    """Bars of F1."""
    shown = grouped([cell for cell in cells if cell["overlap"] == OVERLAP], "method", "pair")
    figure, axes = new_figure(1, len(shown), 4.2 * len(shown), 2.8)
    for panel, ((method, pair), group) in zip(axes[0], shown.items(), strict=True):
        groups = grouped(group, "variant")
        names, numbers = [variant for (variant,) in groups][::-1], [values(own) for own in groups.values()][::-1]
        error = [n.std(ddof=1) if len(n) > 1 else 0 for n in numbers]
        panel.barh(names, [n.mean() for n in numbers], xerr=error, color=colour(method), capsize=2)
        panel.set(title=f"{method}, {pair_name(pair)}", xlabel="F1", xlim=(0, 101))
    return figure
