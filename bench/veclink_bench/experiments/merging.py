"""Retrieval from a merged collection: documents of two models in B's space, queried with B's model.

The shared documents hold no answer, so that every answer is in one collection only; half of them have to be carried
over by the map that is fitted to the links. A cell is one set of links; all maps are tried with it.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from veclink.data.links import Links
from veclink.data.pairs import score
from veclink.errors import InputError
from veclink.uses.maps import KINDS
from veclink.uses.merging import merge
from veclink.uses.translating import Translator
from veclink_bench.experiments.figures import colour, curve, new_figure
from veclink_bench.experiments.retrieval import asked, documents_of, searched
from veclink_bench.experiments.setup import Settings, Setup
from veclink_bench.experiments.tables import (
    Cell,
    Table,
    common_trials,
    grouped,
    mean_std,
    ordered,
    pair_name,
    trials_note,
    values,
)
from veclink_bench.experiments.trials import GEH_METHODS, LINKERS, Case, draw_case, links_or_seeds

TITLE = "Merging"
CORPORA = ("scifact", "nfcorpus")
PAIRS = (("minilm", "mpnet"), ("mpnet", "e5"))
OVERLAPS, ALL_MAPS_AT = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4), 0.3
LINKS_BY = ("span", *GEH_METHODS, "true links", "seeds", "random", "union", "ceiling A", "ceiling B")
PAPERS_MAP = "la2m"
ELSEWHERE = (PAPERS_MAP, "blend")  # the maps at other overlaps: the paper's, and the best
SEEDS, TRIALS = 30, 3
SURE = 0.5  # as in the paper's table; the default of `merge` is stricter
MAP_COLOURS = {PAPERS_MAP: "#1f5fa8", "blend": "#3a8f6d"}
MEASURES = {"recall": "Recall@100", "ndcg": "NDCG@100"}


def cells(setup: Setup) -> list[Settings]:
    """All trials, the first of everything first; ceilings are the same in all of them."""
    own = setup.full and not setup.models
    pairs = (
        [[corpus, *models] for corpus in setup.corpora or CORPORA for models in PAIRS]
        if own
        else [setup.one_pair((CORPORA[0], *PAIRS[0]))]
    )
    using = setup.using(LINKS_BY)
    wanted: list[Settings] = [
        {"pair": pair, "links_by": by} for pair in pairs for by in using if by.startswith("ceiling")
    ]
    return wanted + [
        {"pair": pair, "overlap": overlap, "seeds": SEEDS, "links_by": by, "state": state}
        for state in setup.states(TRIALS)
        for pair in pairs
        for overlap in (OVERLAPS if setup.full else (0.1, ALL_MAPS_AT))
        for by in using
        if not by.startswith("ceiling")
    ]


def run(setup: Setup, settings: Settings) -> dict[str, Any]:
    """Recall@100 and NDCG@100 by map ("none" where nothing is translated), and the quality of the links behind them.

    The first trial at α = 0.3 also has `estimated`: the neighbours that each map keeps of held-back links, by which
    the map "auto" would choose.
    """
    corpus, *models = settings["pair"]
    n = len(setup.vectors(corpus, models[1]))
    questions, by = asked(setup, corpus, models[1], n), settings["links_by"]
    if by.startswith("ceiling"):
        model = models[0 if by == "ceiling A" else 1]
        vectors, every = setup.vectors(corpus, model), np.arange(n)[:, None]
        return {"maps": {"none": searched(questions.vectors(setup, model), vectors, every, questions.answers)}}
    case = draw_case(setup, settings, unshared=questions.is_answer())
    pairs = _pairs(setup, settings, case)
    queries = questions.vectors(setup, models[1])
    told: dict[str, Any] = {"maps": {}}
    if by in LINKERS:
        found = score(pairs.pairs if isinstance(pairs, Links) else pairs, case.cut.truth)
        told["of_links"] = {"count": len(pairs), **{name: 100 * share for name, share in asdict(found).items()}}
        told["estimated"] = {}
    every_map = settings["overlap"] == ALL_MAPS_AT and by in (*LINKERS, "true links")
    for kind in ("none",) if by == "union" else KINDS if every_map else ELSEWHERE:
        translator = None
        if kind != "none":
            calibrated = by == "span" and every_map and settings["state"] == 0
            translator = Translator.fit(pairs, case.a, case.b, map=kind, check=calibrated)
            if translator.quality is not None:
                told["estimated"][kind] = translator.quality.neighbours
        merged = merge(case.a, case.b, pairs, translator=translator, union_only=translator is None, sure=SURE)
        vectors = np.concatenate([batch.vectors for batch in merged.batches(payload=False)])
        documents = documents_of(merged, case.cut.rows_a, case.cut.rows_b)
        told["maps"][kind] = searched(queries, vectors, documents, questions.answers)
    return told


def tables(cells: list[Cell]) -> list[Table]:
    """Every system at α = 0.3; every map against LA2M; ours in percent of true links; the curves over α."""
    trials = by_map(cells)
    pairs = ordered(cells, "pair")
    names = [pair_name(pair, "→") for pair in pairs]
    shown = [trial for trial in trials if trial["map"] in (PAPERS_MAP, "none")]
    at = [trial for trial in trials if trial.get("overlap") == ALL_MAPS_AT]
    note = trials_note([cell for cell in cells if cell.get("overlap") == ALL_MAPS_AT])
    found = []
    for measure, name in MEASURES.items():
        of = grouped([t for t in shown if t.get("overlap", ALL_MAPS_AT) == ALL_MAPS_AT], "links_by", "pair")
        rows = [
            [by, *(mean_std(values(of.get((by, pair), []), measure)) for pair in pairs)]
            for by in sorted(ordered(cells, "links_by"), key=LINKS_BY.index)
        ]
        heading = f"{name} of the merged collection, map {PAPERS_MAP}, α = {ALL_MAPS_AT}, {SEEDS} seeds"
        found.append(Table(heading, ["links by", *names], rows, note))
    found += [_against_la2m(at, pairs, names), _share_of_true(at, pairs, names)]
    overlaps = sorted(ordered(cells, "overlap"))
    for measure, name in MEASURES.items():
        of = grouped(by_map(_cut(cells)), "pair", "links_by", "map", "overlap")
        rows = [
            [
                f"{pair_name(pair, '→')}, {_curve_name(by, kind)}",
                *(mean_std(values(of.get((pair, by, kind, o), []), measure)) for o in overlaps),
            ]
            for pair in pairs
            for by, kind in _curves(cells)
        ]
        heading = f"{name} by overlap, {SEEDS} seeds"
        found.append(Table(heading, ["", *(f"α {o}" for o in overlaps)], rows, trials_note(_cut(cells))))
    return found


def draw(cells: list[Cell]) -> Any:
    """Curves over the overlap, and the ceilings."""
    ceilings = [cell for cell in cells if "overlap" not in cell]
    trials, pairs = by_map(ceilings + _cut(cells)), ordered(cells, "pair")
    figure, axes = new_figure(2, len(pairs), 1.2 + 2.7 * len(pairs), 5.6)
    systems = ordered(cells, "links_by")
    for column, pair in enumerate(pairs):
        here = grouped([trial for trial in trials if tuple(trial["pair"]) == pair], "links_by", "map")
        for row, (measure, name) in enumerate(MEASURES.items()):
            panel = axes[row, column]
            for by, kind in _curves(cells):
                style = {"true links": "--", "random": ":", "union": ":"}.get(by, "-")
                shade = MAP_COLOURS[kind] if by in ("span", "true links") else colour(by, systems)
                label, own = _curve_name(by, kind), here.get((by, kind), [])
                curve(panel, own, "overlap", label=label, measure=measure, ls=style, color=shade)
            for by in ("ceiling A", "ceiling B"):
                if (by, "none") in here:
                    height = values(here[by, "none"], measure).mean()
                    label = f"all by {'A' if by == 'ceiling A' else 'B'}'s model"
                    panel.axhline(height, color="0.4", lw=0.9, ls="-." if by == "ceiling A" else ":", label=label)
            panel.set(title=pair_name(pair, "→"), xlabel="overlap α", ylabel=name)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=7)
    return figure


def by_map(cells: list[Cell]) -> list[Cell]:
    """Each cell once for every map, with the figures of that map as its own."""
    return [
        {key: value for key, value in cell.items() if key != "maps"} | {"map": kind} | measured
        for cell in cells
        for kind, measured in cell["maps"].items()
    ]


def _against_la2m(trials: list[Cell], pairs: list[Any], names: list[str]) -> Table:
    of = grouped([trial for trial in trials if trial["links_by"] == "span"], "map", "pair")
    rows = [[kind, *(_beside_la2m(of, kind, pair) for pair in pairs)] for kind in KINDS]
    heading = f"Each map with span's links: Recall@100 / NDCG@100 (NDCG against LA2M's), α = {ALL_MAPS_AT}"
    guess = [
        f"{name} {max(estimated, key=lambda kind: estimated[kind])}"
        for pair, name in zip(pairs, names, strict=True)
        for estimated in [next((t["estimated"] for t in of.get((PAPERS_MAP, pair), []) if t.get("estimated")), None)]
        if estimated
    ]
    return Table(
        heading, ["map", *names], rows, f"`auto` would take, in the first trial: {', '.join(guess)}." * bool(guess)
    )


def _beside_la2m(of: dict[tuple[Any, ...], list[Cell]], kind: str, pair: Any) -> str:
    own, la2m = (of.get((each, pair), []) for each in (kind, "la2m"))
    if not own or not la2m:
        return "–"
    ndcg, gap = values(own, "ndcg").mean(), values(own, "ndcg").mean() - values(la2m, "ndcg").mean()
    return f"{values(own, 'recall').mean():.1f} / {ndcg:.1f}" + (f" ({gap:+.1f})" if kind != "la2m" else "")


def _share_of_true(trials: list[Cell], pairs: list[Any], names: list[str]) -> Table:
    both = [trial for trial in trials if trial["links_by"] in ("span", "true links")]
    of = grouped(common_trials(both, "links_by", "pair", "map"), "links_by", "map", "pair")
    rows = []
    for kind in KINDS:
        row = [kind]
        for pair in pairs:
            ours, true = (of.get((by, kind, pair), []) for by in ("span", "true links"))
            ratio = [f"{100 * values(ours, m).mean() / values(true, m).mean():.1f}" for m in MEASURES if ours and true]
            row.append(" / ".join(ratio) or "–")
        rows.append(row)
    heading = f"Span's links in percent of the true links with the same map: Recall@100 / NDCG@100, α = {ALL_MAPS_AT}"
    return Table(heading, ["map", *names], rows)


def _curves(cells: list[Cell]) -> list[tuple[str, str]]:
    """The (links by, map) of the curves, as far as they were measured."""
    present = ordered(_cut(cells), "links_by")
    wanted = [(by, kind) for by in ("span", "true links") for kind in ELSEWHERE]
    wanted += [(by, PAPERS_MAP) for by in (*GEH_METHODS, "seeds", "random")] + [("union", "none")]
    return [(by, kind) for by, kind in wanted if by in present]


def _curve_name(by: str, kind: str) -> str:
    return by if kind == "none" else f"{by}, {kind}"


def _cut(cells: list[Cell]) -> list[Cell]:
    """The cells of cut corpora, of trials that were run at every overlap."""
    return common_trials([cell for cell in cells if "overlap" in cell], "overlap", "pair", "links_by")


def _pairs(setup: Setup, settings: Settings, case: Case) -> Links | np.ndarray:
    """Links or pairs by which the collections are merged; where a linker finds fewer than it was given, the seeds."""
    by, seeds = settings["links_by"], case.start["seeds"]
    if by in LINKERS:
        return links_or_seeds(setup, settings, case)
    if by == "random":
        rng = np.random.default_rng([settings["state"], 1])
        count = len(case.cut.truth)
        return np.column_stack([rng.permutation(len(side))[:count] for side in (case.a, case.b)])
    if by == "true links":
        return case.cut.truth
    if by in ("seeds", "union"):
        return seeds
    raise InputError(f"There are no links by {by!r}; there are {', '.join(LINKS_BY)}.")
