"""GEH's best settings: chosen on some pairs, reported on others, beside GEH to the letter."""

from __future__ import annotations

from typing import Any

from veclink_bench.experiments.figures import colour, new_figure
from veclink_bench.experiments.setup import Settings, Setup
from veclink_bench.experiments.tables import Cell, Table, grouped, mean_std, ordered, pair_name, trials_note, values
from veclink_bench.experiments.trials import GEH_TUNED, run_trial

TITLE = "GEH's best settings"
SEEDS, CHOICE_TRIALS, TRIALS = 15, 2, 5
CHOICE_ROWS, CHOICE_ITERATIONS, ITERATIONS = 2000, 30, 40  # iterations: fewer than the paper's 100, for want of time
CHOICE = (("papers", "minilm", "mpnet", 0.15), ("papers", "mpnet", "e5", 0.3), ("nfcorpus", "minilm", "e5", 0.3))
CORPORA = ("reddit", "stackexchange", "scifact", "nfcorpus")
REPORT = (*((corpus, "minilm", "mpnet") for corpus in CORPORA), ("reddit", "minilm", "e5"))
LETTER, TUNED = "to the letter", "tuned"


def _variants() -> dict[str, dict[str, Any]]:
    """Out-of-bag votes with every choice of k, centring, way to draw views, and share of the links in a view."""
    found: dict[str, dict[str, Any]] = {LETTER: {}}
    for k, share in ((50, 0.4), (10, 0.4), (10, 0.2), (50, 0.6), (50, 0.8)):
        for centred in (False, True):
            for choice in ("fps", "random"):
                if share > 0.4 and not (centred and choice == "random"):
                    continue
                name = f"k {k}, share {share}, {choice}{', centred' if centred else ''}"
                found[name] = {"own_votes": False, "k": k, "share": share, "view_choice": choice, "centred": centred}
    return found


VARIANTS = _variants()


def cells(setup: Setup) -> list[Settings]:
    """The trials to choose by, and those to report."""
    choice = [
        {"pair": list(pair), "overlap": overlap, "seeds": SEEDS, "method": "geh", "variant": variant,
         "purpose": "choice", "rows": CHOICE_ROWS, "state": state}
        for state in setup.states(CHOICE_TRIALS)
        for *pair, overlap in (CHOICE if setup.full else CHOICE[:1])
        for variant in (VARIANTS if setup.full else (LETTER, _tuned_name()))
    ]  # fmt: skip
    report = [
        {"pair": list(pair), "overlap": 0.3, "seeds": SEEDS, "method": "geh", "variant": variant,
         "purpose": "report", "rows": None, "state": state}
        for state in setup.states(TRIALS)
        for pair in REPORT
        for variant in (LETTER, TUNED)
    ]  # fmt: skip
    return choice + (report if setup.full else [])


def run(setup: Setup, settings: Settings) -> dict[str, Any]:
    """One trial."""
    most = CHOICE_ITERATIONS if settings["purpose"] == "choice" else ITERATIONS
    options = GEH_TUNED if settings["variant"] == TUNED else VARIANTS[settings["variant"]]
    return run_trial(setup, settings | {"options": options | {"max_iterations": most if setup.full else 8}})


def tables(cells: list[Cell]) -> list[Table]:
    """F1 of all settings on the pairs of the choice, and of the chosen ones on the others."""
    choice = [cell for cell in cells if cell["purpose"] == "choice"]
    report = [cell for cell in cells if cell["purpose"] == "report"]
    ranked = sorted(grouped(choice, "variant").items(), key=lambda item: -values(item[1]).mean())
    rows = []
    for (variant,), group in ranked:
        of = grouped(group, "pair")
        rows.append([variant, *(mean_std(values(of.get((pair,), []))) for pair in ordered(choice, "pair"))])
        rows[-1].append(f"{values(group).mean():.1f}")
    heads = [f"{pair_name(pair)}, α {overlap}" for pair, overlap in grouped(choice, "pair", "overlap")]
    chosen = Table("F1 of GEH's settings, to choose by", ["settings", *heads, "mean"], rows, trials_note(choice))
    reported = [
        [pair_name(pair), *(mean_std(values(group, name)) for name in ("precision", "recall", "f1", "f1_oracle"))]
        for (pair,), group in grouped([c for c in report if c["variant"] == TUNED], "pair").items()
    ]
    columns = ["pair", "precision", "recall", "F1", "F1 by an oracle's threshold"]
    return [chosen, Table("GEH tuned on pairs that had no say, α = 0.3", columns, reported, trials_note(report))]


def draw(cells: list[Cell]) -> Any:
    """Bars of the mean F1 of all settings."""
    groups = grouped([cell for cell in cells if cell["purpose"] == "choice"], "variant")
    ranked = sorted(((values(own).mean(), variant) for (variant,), own in groups.items()))
    figure, axes = new_figure(width=6.4, height=1.0 + 0.25 * len(ranked))
    axes[0, 0].barh([variant for _, variant in ranked], [mean for mean, _ in ranked], color=colour("geh tuned"))
    axes[0, 0].set(xlabel="mean F1", xlim=(0, 101))
    return figure


def _tuned_name() -> str:
    """The variant that has the tuned settings."""
    wanted = {"k": 50, "share": 0.4} | GEH_TUNED
    return next(name for name, options in VARIANTS.items() if options == wanted)
