"""Retrieval from a merged collection: documents of two models in one space, queried with the second model.

The shared documents hold no answer, so that every answer is in one collection only; half of them have to be carried
over by the map that the links give. Map: local Procrustes maps around linked points, as the paper's LA2M.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from veclink.cloud import prepare
from veclink.collection import Collection
from veclink.corpora import queries
from veclink.errors import InputError
from veclink.evaluation import draw_seeds, score
from veclink.experiments.figures import colour, curve, new_figure
from veclink.experiments.setup import Settings, Setup
from veclink.experiments.tables import Cell, Table, grouped, mean_std, ordered, pair_name, trials_note, values
from veclink.linking import link
from veclink.signatures import unit_rows

TITLE = "Merge curves"
PAIRS = (("scifact", "minilm", "mpnet"), ("scifact", "mpnet", "e5"))
OVERLAPS = (0.05, 0.1, 0.2, 0.3, 0.4)
LINKS_BY = ("ceiling", "true links", "span", "geh", "seeds", "random", "union")
SEEDS, DEPTH, TRIALS = 30, 100, 2


@dataclass(frozen=True, eq=False)
class Library:
    """A corpus cut so that the overlap holds no answer, with its queries by the second model and what answers them."""

    a: np.ndarray
    b: np.ndarray
    rows_a: np.ndarray
    rows_b: np.ndarray
    truth: np.ndarray
    whole: np.ndarray
    queries: np.ndarray
    answers: list[dict[int, int]]


def cells(setup: Setup) -> list[Settings]:
    """All trials, the first of everything first."""
    own = setup.full and not (setup.corpora or setup.models)
    pairs = [list(p) for p in PAIRS] if own else [setup.one_pair(PAIRS[0])]
    return [
        {"pair": pair, "overlap": overlap, "seeds": SEEDS, "links_by": by, "state": state}
        for state in setup.states(TRIALS)
        for pair in pairs
        for overlap in (OVERLAPS if setup.full else (0.1, 0.3))
        for by in setup.using(LINKS_BY)
    ]


def run(setup: Setup, settings: Settings) -> dict[str, Any]:
    """Recall@100 and NDCG@100 of one merged collection, and the F1 of the links behind it."""
    library = _library(setup, settings)
    rng = np.random.default_rng([settings["state"], 1])
    seeds = draw_seeds(library.truth, min(SEEDS, len(library.truth)), rng)
    by = settings["links_by"]
    if by == "ceiling":
        return _retrieved(library.whole, np.arange(len(library.whole)), library)
    pairs = _pairs(setup, settings, library, seeds, rng)
    if by == "union":
        carried = np.zeros((len(library.a), library.b.shape[1]), np.float32)  # no map: nothing of A can be found
        carried[:, : library.a.shape[1]] = library.a[:, : library.b.shape[1]]
    else:
        a, b = (prepare(Collection.from_array(side)) for side in (library.a, library.b))
        carried = local_maps(a.dense(), b.dense(), pairs)
        assert b.mean is not None
        library = _in_centred_space(library, b.dense(), b.mean)
    alone = np.setdiff1d(np.arange(len(library.a)), pairs[:, 0])
    merged = np.concatenate([library.b, unit_rows(carried[alone].astype(np.float32))])
    rows = np.concatenate([library.rows_b, library.rows_a[alone]])
    found = score(pairs, library.truth)
    return _retrieved(merged, rows, library) | {"f1": 100 * found.f1, "links": len(pairs)}


def local_maps(a: np.ndarray, b: np.ndarray, pairs: np.ndarray, neighbourhood: int | None = None) -> np.ndarray:
    """The rows of A in B's space, (n1, d2): each by the Procrustes map of the links around the link nearest to it.

    A link's neighbourhood is its nearest linked points, as many as the larger dimension (of 200 points, NDCG was 5
    points lower: they leave most directions open); with fewer links there is one, of them all. A map takes the mean of
    a neighbourhood to that of its partners, scales and rotates.
    """
    neighbourhood = neighbourhood or max(a.shape[1], b.shape[1])
    left, right = a[pairs[:, 0]], b[pairs[:, 1]]
    if len(pairs) <= neighbourhood:
        return _procrustes(left, right, a)
    centres = left[np.random.default_rng(0).choice(len(left), min(len(left), 64), replace=False)]
    member = np.argmax(a @ centres.T, axis=1)
    carried = np.empty((len(a), b.shape[1]), np.float32)
    for place in np.unique(member):
        near = np.argpartition(-(left @ centres[place]), neighbourhood)[:neighbourhood]
        carried[member == place] = _procrustes(left[near], right[near], a[member == place])
    return carried


def tables(cells: list[Cell]) -> list[Table]:
    """Recall and NDCG by overlap."""
    found = []
    for (pair,), group in grouped(cells, "pair").items():
        overlaps, of = ordered(group, "overlap"), grouped(group, "links_by", "overlap")
        for measure, name in (("recall", "Recall@100"), ("ndcg", "NDCG@100")):
            rows = [
                [by, *(mean_std(values(of.get((by, overlap), []), measure)) for overlap in overlaps)]
                for by in ordered(group, "links_by")
            ]
            heading = f"{name} of the merged collection, {pair_name(pair)}, {SEEDS} seeds"
            found.append(Table(heading, ["links by", *(f"α {o}" for o in overlaps)], rows, trials_note(group)))
    return found


def draw(cells: list[Cell]) -> Any:
    """Curves over the overlap."""
    pairs = ordered(cells, "pair")
    figure, axes = new_figure(len(pairs), 2, 7.4, 2.8 * len(pairs))
    for row, pair in enumerate(pairs):
        for panel, (measure, name) in zip(axes[row], (("recall", "Recall@100"), ("ndcg", "NDCG@100")), strict=True):
            names = ordered(cells, "links_by")
            for by in names:
                own = [cell for cell in cells if tuple(cell["pair"]) == pair and cell["links_by"] == by]
                style = ":" if by in ("ceiling", "true links", "union", "random") else "-"
                curve(panel, own, "overlap", label=by, measure=measure, ls=style, color=colour(by, names))
            panel.set(title=f"{pair_name(pair)}", xlabel="overlap α", ylabel=name, ylim=(0, 101))
    axes[0, 0].legend(fontsize=6)
    return figure


def _library(setup: Setup, settings: Settings) -> Library:
    corpus, *models = settings["pair"]
    left, right = (np.asarray(setup.vectors(corpus, model), np.float32) for model in models)
    n = len(left)
    asked_for, graded = queries(setup.data, corpus, models[1])
    answers = [{row: grade for row, grade in each.items() if row < n and grade > 0} for each in graded]
    asked = [i for i, each in enumerate(answers) if each]
    holds_answer = np.zeros(n, bool)
    holds_answer[[row for each in answers for row in each]] = True
    rng = np.random.default_rng(settings["state"])
    free = rng.permutation(np.flatnonzero(~holds_answer))
    wanted = round(settings["overlap"] * n)
    if wanted > len(free):
        raise InputError(f"{corpus} has {len(free):,} documents that answer no query, and {wanted:,} are to be shared.")
    shared = free[:wanted]
    rest = rng.permutation(np.setdiff1d(np.arange(n), shared))
    rows_a = rng.permutation(np.concatenate([shared, rest[: len(rest) // 2]]))
    rows_b = rng.permutation(np.concatenate([shared, rest[len(rest) // 2 :]]))
    place_a, place_b = np.empty(n, np.int64), np.empty(n, np.int64)
    place_a[rows_a], place_b[rows_b] = np.arange(len(rows_a)), np.arange(len(rows_b))
    truth = np.stack([place_a[shared], place_b[shared]], axis=1)
    unit = unit_rows(right.copy())
    return Library(
        left[rows_a],
        unit[rows_b],
        rows_a,
        rows_b,
        truth,
        unit,
        unit_rows(asked_for[asked].astype(np.float32)),
        [answers[i] for i in asked],
    )


def _pairs(
    setup: Setup, settings: Settings, library: Library, seeds: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    by = settings["links_by"]
    if by in ("span", "geh"):
        options: dict[str, Any] = {} if setup.full or by == "span" else {"max_iterations": 25}
        state = settings["state"]
        found = link(
            library.a, library.b, seeds=seeds, method=by, device=setup.device, random_state=state, **options
        ).pairs
        return found if len(found) >= len(seeds) else seeds
    if by == "random":
        count = len(library.truth)
        return np.column_stack([rng.permutation(len(side))[:count] for side in (library.a, library.b)])
    return {"true links": library.truth, "seeds": seeds, "union": np.empty((0, 2), np.int64)}[by]


def _in_centred_space(library: Library, b: np.ndarray, mean: np.ndarray) -> Library:
    queries = unit_rows(library.queries - mean)
    return Library(library.a, b, library.rows_a, library.rows_b, library.truth, library.whole, queries, library.answers)


def _procrustes(left: np.ndarray, right: np.ndarray, rows: np.ndarray) -> np.ndarray:
    mean_left, mean_right = left.mean(axis=0), right.mean(axis=0)
    u, value, vt = np.linalg.svd((left - mean_left).T @ (right - mean_right), full_matrices=False)
    scale = value.sum() / max(float(np.square(left - mean_left).sum()), 1e-12)
    return (rows - mean_left) @ (scale * (u @ vt)) + mean_right


def _retrieved(merged: np.ndarray, rows: np.ndarray, library: Library) -> dict[str, Any]:
    """Recall@100 and NDCG@100 in percent, mean over the queries."""
    order = np.argsort(-(library.queries @ merged.T), axis=1, kind="stable")
    recalls, gains = [], []
    discount = 1 / np.log2(np.arange(2, DEPTH + 2))
    for ranked, answers in zip(order, library.answers, strict=True):
        found = list(dict.fromkeys(rows[ranked[: 2 * DEPTH]].tolist()))[:DEPTH]  # an object not linked is there twice
        grades = np.array([answers.get(row, 0) for row in found])
        ideal = np.sort(list(answers.values()))[::-1][:DEPTH]
        recalls.append((grades > 0).sum() / len(answers))
        gains.append((grades * discount[: len(grades)]).sum() / (ideal * discount[: len(ideal)]).sum())
    return {"recall": 100 * float(np.mean(recalls)), "ndcg": 100 * float(np.mean(gains))}
