"""The pictures of docs/how-it-works.md, drawn from real vectors and from the committed results.

    pip install ./bench
    veclink bench pictures --data DIR [--out docs/pictures]

DIR holds a folder per corpus with MODEL.npy in each, as for span.py. One trial is linked step by step: scifact, minilm
against e5, 30 % shared, 15 seeds. Nothing but the drawing uses the truth.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("agg")
import matplotlib.pyplot as plt

from veclink.backends.cloud_pair import CloudPair
from veclink.confidence.calibration import Calibrated, calibrate
from veclink.confidence.candidates import Candidates, crossfit
from veclink.confidence.decoys import decoy_pairs, remove_partners
from veclink.confidence.evidence import neighbourhood_features
from veclink.data.collection import Collection
from veclink.geometry.clouds import prepare
from veclink.linkers.anchors import anchors_from_rows
from veclink.linkers.span.constants import NEIGHBOURS
from veclink.linkers.span.growing import DEFAULT_SCHEDULE, Pool, grow
from veclink_bench.arguments import parser
from veclink_bench.places import PICTURES, results_folder
from veclink_bench.splits import draw_seeds, split

RESULTS = results_folder("experiments")
CORPUS, MODEL_A, MODEL_B, OVERLAP, SEEDS, STATE = "scifact", "minilm", "e5", 0.3, 15, 0
RIGHT, WRONG, MADE, PLAIN = "#1b7f5c", "#c8442e", "#8a6fc0", "#4a6fa5"
PAIRS = [
    (corpus, *models)
    for corpus in ("scifact", "nfcorpus")
    for models in (("minilm", "mpnet"), ("mpnet", "e5"), ("minilm", "e5"))
]


@dataclass(frozen=True, eq=False)
class Trial:
    """One run, step by step, with the truth beside it."""

    rounds: list[Pool]
    candidates: Candidates
    neighbourhoods: np.ndarray
    calibrated: Calibrated
    keys: np.ndarray
    n_b: int

    def right(self, rows_a: np.ndarray, rows_b: np.ndarray) -> np.ndarray:
        """Which of the pairs are true."""
        return np.isin(rows_a * self.n_b + rows_b, self.keys)


def linked(data: Path) -> Trial:
    """The trial that the first three pictures show."""
    left, right = (np.load(data / CORPUS / f"{model}.npy") for model in (MODEL_A, MODEL_B))
    rng = np.random.default_rng(STATE)
    cut = split(len(left), OVERLAP, rng)
    seeds = draw_seeds(cut.truth, SEEDS, rng)
    a, b = (prepare(Collection.from_array(side)).dense() for side in (left[cut.rows_a], right[cut.rows_b]))
    clouds = CloudPair(a, b, k=NEIGHBOURS)
    rounds: list[Pool] = []
    # Grown again from the start for every round: a pool does not keep its past.
    while not rounds or len(rounds[-1].history) == len(rounds) < DEFAULT_SCHEDULE.rounds:
        schedule = replace(DEFAULT_SCHEDULE, rounds=len(rounds) + 1)
        anchors = anchors_from_rows(clouds, seeds)
        rounds.append(grow(clouds, anchors, np.random.default_rng(STATE), schedule=schedule))
    if len(rounds[-1].history) < len(rounds):
        rounds.pop()
    pool = rounds[-1].pairs
    candidates = crossfit(clouds, pool, rng).candidates
    neighbourhoods = neighbourhood_features(clouds, candidates, pool, rng)
    calibrated = calibrate(candidates, neighbourhoods, k=NEIGHBOURS)
    n_b = len(cut.rows_b)
    keys = cut.truth[:, 0] * n_b + cut.truth[:, 1]
    return Trial(rounds, candidates, neighbourhoods, calibrated, keys, n_b)


def growth(trial: Trial) -> plt.Figure:
    """Size of the pool after every round, right and wrong links."""
    figure, axes = plt.subplots(figsize=(6.4, 3.2))
    right = np.array([trial.right(*each.pairs.T).sum() for each in trial.rounds])
    size = np.array([len(each.pairs) for each in trial.rounds])
    step = np.arange(1, len(size) + 1)
    axes.bar(step, right, color=RIGHT, label="right")
    axes.bar(step, size - right, bottom=right, color=WRONG, label="wrong")
    for x, total, good in zip(step, size, right, strict=True):
        axes.annotate(f"{good / total:.0%}", (x, total), ha="center", va="bottom", fontsize=9)
    axes.axhline(len(trial.keys), color="0.5", lw=1, ls="--")
    axes.annotate("shared objects", (0.6, len(trial.keys)), va="bottom", color="0.35", fontsize=9)
    axes.set(xlabel="round", ylabel="links in the pool", xticks=step, ylim=(0, 1.15 * max(size.max(), len(trial.keys))))
    axes.legend(frameon=False, loc="center left")
    return figure


def scores(trial: Trial) -> plt.Figure:
    """Scores of mutual candidates, right and wrong, beside those of the decoys."""
    figure, axes = plt.subplots(figsize=(6.4, 3.2))
    found, links = trial.candidates, trial.calibrated.positions
    right = trial.right(found.rows_a[links], found.rows_b[links])
    made = [remove_partners(found, links, NEIGHBOURS, side) for side in "ab"]
    decoy_score = np.concatenate([decoy_pairs(found, trial.neighbourhoods, each, NEIGHBOURS).score for each in made])
    weight = np.concatenate([each.weights(trial.calibrated.probability) for each in made])
    bins = np.linspace(found.score[links].min(), found.score[links].max(), 50).tolist()
    axes.hist(found.score[links[right]], bins, color=RIGHT, alpha=0.75, label=f"right ({right.sum():,})")
    axes.hist(found.score[links[~right]], bins, color=WRONG, alpha=0.75, label=f"wrong ({(~right).sum():,})")
    scale = (~right).sum() / weight.sum()
    label = "decoys, scaled to as many as wrong"
    axes.hist(decoy_score, bins, weights=scale * weight, histtype="step", color=MADE, lw=2, label=label)
    axes.set(
        xlabel="cross-fitted score (csls) of mutual candidates", ylabel="candidates", ylim=(0, 1.4 * axes.get_ylim()[1])
    )
    axes.legend(frameon=False, loc="upper left", fontsize=9)
    return figure


def reliability(trial: Trial) -> plt.Figure:
    """Probability against the share that is right, in ten bins."""
    figure, axes = plt.subplots(figsize=(4.2, 4.0))
    found, links, probability = trial.candidates, trial.calibrated.positions, trial.calibrated.probability
    right = trial.right(found.rows_a[links], found.rows_b[links])
    place = np.minimum((probability * 10).astype(int), 9)
    axes.plot([0, 1], [0, 1], color="0.6", lw=1, ls="--")
    for bin_ in np.unique(place):
        here = place == bin_
        x, y, n = probability[here].mean(), right[here].mean(), here.sum()
        axes.errorbar(x, y, yerr=np.sqrt(max(y * (1 - y), 0.01) / n), fmt="o", color=PLAIN, capsize=2)
        axes.annotate(f"{n:,}", (x, y), xytext=(6, -11), textcoords="offset points", fontsize=8, color="0.35")
    axes.set(xlabel="estimated probability", ylabel="share that is right", xlim=(-0.02, 1.08), ylim=(-0.05, 1.05))
    return figure


def bars() -> plt.Figure:
    """F1 of both methods on the six pairs, from the committed results; a pair that was not run has no bar."""
    span = _span_results()
    geh = json.loads((RESULTS / "geh.json").read_text())
    ours: list[list[float]] = [
        [100 * trial["f1"] for key, trial in span.items() if key.startswith(f"main pair={'-'.join(pair)} overlap=0.3 ")]
        for pair in PAIRS
    ]
    theirs = [
        [t["f1"] for row in geh["rows"] if (row["corpus"], row["variant"]) == (pair[0], "full") for t in row["trials"]]
        if list(pair[1:]) == geh["setting"]["models"]
        else []
        for pair in PAIRS
    ]
    figure, axes = plt.subplots(figsize=(6.4, 3.2))
    for shift, values, colour, label in ((-0.2, theirs, "0.6", "GEH"), (0.2, ours, PLAIN, "span")):
        for x, each in enumerate(values):
            if each:
                axes.bar(x + shift, np.mean(each), 0.38, color=colour, label=label if x == 0 else None)
                axes.annotate(f"{np.mean(each):.0f}", (x + shift, np.mean(each)), ha="center", va="bottom", fontsize=9)
            else:
                axes.annotate("not run", (x + shift, 1), ha="center", va="bottom", rotation=90, fontsize=8, color="0.5")
    names = [f"{corpus}\n{a}–{b}" for corpus, a, b in PAIRS]
    axes.set_xticks(range(len(PAIRS)), names, fontsize=8)
    axes.set(ylabel="F1, mean of the trials", ylim=(0, 112))
    axes.legend(frameon=False, ncols=2, loc="upper right", fontsize=8)
    return figure


def _span_results() -> dict[str, Any]:
    trials: dict[str, Any] = {}
    for file in sorted(RESULTS.glob("span*.json")):
        trials |= json.loads(file.read_text())
    return trials


def main() -> None:
    """Draw all pictures."""
    arguments = parser(__doc__, data=True)
    arguments.add_argument("--out", type=Path, default=PICTURES)
    args = arguments.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    plt.rcParams |= {"axes.spines.top": False, "axes.spines.right": False, "figure.dpi": 130, "font.size": 10}
    trial = linked(args.data)
    found = trial.calibrated.positions
    right = trial.right(trial.candidates.rows_a[found], trial.candidates.rows_b[found])
    print(f"pool: {[(len(p.pairs), round(float(trial.right(*p.pairs.T).mean()), 3)) for p in trial.rounds]}")
    print(f"mutual candidates: {len(found)}, right {right.sum()}, expected {trial.calibrated.probability.sum():.0f}")
    pictures = {"growth": growth(trial), "scores": scores(trial), "reliability": reliability(trial), "f1": bars()}
    for name, figure in pictures.items():
        figure.savefig(args.out / f"{name}.png", bbox_inches="tight")
