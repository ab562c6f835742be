"""Three collections linked at once by `veclink.link_many`, against each two of them alone.

A corpus is cut into three collections of three models: 20 % of the objects are in all three, 10 % in each two, the
rest in one, so that every two share 30 %. F1 is over the same true pairs, mean of the three pairs of collections.
"""

from __future__ import annotations

from dataclasses import asdict
from itertools import combinations
from typing import Any

import numpy as np

from veclink.data.pairs import score
from veclink.errors import InputError
from veclink.uses.many import link_many
from veclink_bench.experiments.figures import COLOURS, new_figure
from veclink_bench.experiments.setup import MODELS, Settings, Setup
from veclink_bench.experiments.tables import Cell, Table, grouped, mean_std, ordered, pair_name, trials_note, values
from veclink_bench.splits import draw_seeds

TITLE = "Three collections at once"
CORPORA = ("scifact", "nfcorpus", "papers", "reddit", "stackexchange")
IN_ALL, IN_TWO = 0.2, 0.1
OVERLAP, SEEDS, TRIALS = IN_ALL + IN_TWO, 15, 3
WAYS = {"pairwise": "each two alone", "together": "together"}


def cells(setup: Setup) -> list[Settings]:
    """All trials, the first of everything first."""
    models = setup.models or MODELS
    if len(models) != 3:
        raise InputError(f"{len(models)} models were given ({', '.join(models)}); this is measured on three.")
    corpora = setup.corpora or (CORPORA if setup.full else ("nfcorpus",))
    return [
        {"collections": [corpus, *models], "overlap": round(OVERLAP, 2), "seeds": SEEDS, "state": state}
        for state in setup.states(TRIALS)
        for corpus in corpora
    ]


def run(setup: Setup, settings: Settings) -> dict[str, Any]:
    """Precision, recall and F1 of every two collections, pairwise and together, and their means over the three."""
    corpus, *models = settings["collections"]
    rng = np.random.default_rng(settings["state"])
    vectors = [setup.vectors(corpus, model) for model in models]
    rows, truth = cut_in_three(len(vectors[0]), rng)
    seeds = {ends: draw_seeds(pairs, settings["seeds"], rng) for ends, pairs in truth.items()}
    sides = [side[chosen] for side, chosen in zip(vectors, rows, strict=True)]
    found = link_many(sides, seeds=seeds, random_state=settings["state"], device=setup.device)
    told: dict[str, Any] = {"objects": len(found), "pairwise": {}, "together": {}}
    for (i, j), pairs in truth.items():
        name = f"{models[i]}–{models[j]}"
        for way, links in (("pairwise", found.pairwise[i, j].pairs), ("together", found.pairs(i, j))):
            told[way][name] = {key: 100 * share for key, share in asdict(score(links, pairs)).items()}
    for way in WAYS:
        for measure in ("precision", "recall", "f1"):
            told[f"{way}_{measure}"] = float(np.mean([each[measure] for each in told[way].values()]))
    return told | {"gain": told["together_f1"] - told["pairwise_f1"]}


def cut_in_three(n: int, rng: np.random.Generator) -> tuple[list[np.ndarray], dict[tuple[int, int], np.ndarray]]:
    """The corpus rows of three collections, shuffled, and the true pairs of each two."""
    order, ends = rng.permutation(n), list(combinations(range(3), 2))
    every, *twos, rest = np.split(order, np.cumsum([round(IN_ALL * n), *[round(IN_TWO * n)] * 3]))
    alone = np.array_split(rest, 3)
    rows = []
    for c in range(3):
        shared = [two for two, pair in zip(twos, ends, strict=True) if c in pair]
        rows.append(rng.permutation(np.concatenate([every, alone[c], *shared])))
    place = np.full((3, n), -1)
    for c in range(3):
        place[c, rows[c]] = np.arange(len(rows[c]))
    truth = {}
    for i, j in ends:
        both = np.flatnonzero((place[i] >= 0) & (place[j] >= 0))
        truth[i, j] = np.column_stack([place[i, both], place[j, both]])
    return rows, truth


def tables(cells: list[Cell]) -> list[Table]:
    """Pairwise and together: the means of the three pairs, then each pair."""
    of = grouped(cells, "collections")
    measures = [f"{way}_{measure}" for measure in ("f1", "precision", "recall") for way in WAYS]
    columns = [f"{measure}, {way}" for measure in ("F1", "precision", "recall") for way in WAYS.values()]
    means = [
        [corpus[0], *(mean_std(values(group, name)) for name in measures), mean_std(values(group, "gain"))]
        for (corpus,), group in of.items()
    ]
    each = [
        [f"{corpus[0]} {pair}", *(mean_std(np.array([cell[way][pair]["f1"] for cell in group])) for way in WAYS)]
        for (corpus,), group in of.items()
        for pair in group[0]["pairwise"]
    ]
    models = pair_name(["", *cells[0]["collections"][1:]], " + ").strip() if cells else ""
    heading = f"{models}, every two share {100 * OVERLAP:.0f} %, {SEEDS} seeds for each two"
    return [
        Table(heading, ["corpus", *columns, "gain in F1"], means, trials_note(cells)),
        Table("F1 of each two collections", ["", *WAYS.values()], each, trials_note(cells)),
    ]


def draw(cells: list[Cell]) -> Any:
    """F1 of every two, alone and together, as bars."""
    corpora, of = ordered(cells, "collections"), grouped(cells, "collections")
    figure, axes = new_figure(1, 1, 1.6 + 1.1 * len(corpora), 3.2)
    panel, lowest = axes[0, 0], 100.0
    for shift, (way, name) in enumerate(WAYS.items()):
        heights = [values(of[(corpus,)], f"{way}_f1").mean() for corpus in corpora]
        shade = (COLOURS["geh"], COLOURS["span"])[shift]
        bars = panel.bar(np.arange(len(corpora)) + 0.4 * (shift - 0.5), heights, 0.38, label=name, color=shade)
        panel.bar_label(bars, fmt="%.1f", fontsize=7)
        lowest = min(lowest, *heights)
    panel.set_xticks(range(len(corpora)), [corpus[0] for corpus in corpora])
    panel.set(ylabel="F1, mean of the three pairs", ylim=(max(0.0, lowest - 10), 102))
    figure.legend(*panel.get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=7)
    return figure
