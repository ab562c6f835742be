"""How far the review page's precision can be believed: links of real vectors, reviewed by someone who knows the truth.

    veclink bench review --data DIR

DIR holds a folder per corpus with MODEL.npy in each, row i of every model being the same object. Each trial links one
random split, then reviews its links in 200 random orders and stops after some answers. How often the 95 % interval held
the true precision, its mean width, and the mean error of the estimate are kept in results/experiments/review.json.
Trials that are already in the file are not run again.
"""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from veclink import Links, link
from veclink.files.atomic import written_whole
from veclink.review.estimate import ORDERS, banded, count_bands, estimate
from veclink_bench.arguments import parser
from veclink_bench.places import results_folder
from veclink_bench.splits import draw_seeds, split

RESULTS = results_folder("experiments") / "review.json"
PAIRS = (("reddit", "minilm", "mpnet"), ("stackexchange", "mpnet", "e5"), ("nfcorpus", "minilm", "e5"))
OVERLAPS, STATES = (0.3, 0.15), (0, 1)
ANSWERS, REVIEWS = (0, 10, 20, 40, 80), 200


def main() -> None:
    arguments = parser(__doc__, data=True)
    data = arguments.parse_args().data
    done: list[dict[str, Any]] = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    for pair, overlap, state in product(PAIRS, OVERLAPS, STATES):
        settings = {"pair": list(pair), "overlap": overlap, "state": state}
        if any(settings.items() <= each.items() for each in done):
            continue
        done.append(settings | trial(data, pair, overlap, state))
        with written_whole(RESULTS) as file:
            file.write_text(json.dumps(done, indent=1) + "\n")
    print_table(done)


def trial(data: Path, pair: tuple[str, str, str], overlap: float, state: int) -> dict[str, Any]:
    """Link one split of a corpus, and review the links."""
    left, right = (np.load(data / pair[0] / f"{model}.npy") for model in pair[1:])
    rng = np.random.default_rng(state)
    cut = split(len(left), overlap, rng)
    seeds = draw_seeds(cut.truth, 15, rng)
    links = link(left[cut.rows_a], right[cut.rows_b], seeds=seeds, random_state=state, device="cpu")
    if not len(links):  # not linkable: there is nothing to review
        return {"links": 0, "precision": None, "reviews": []}
    true = set(map(tuple, cut.truth.tolist()))
    right_ones = np.array([tuple(each) in true for each in links.pairs.tolist()], dtype=bool)
    reviewed = [reviews(links, right_ones, order, answers) for order, answers in product(ORDERS, ANSWERS)]
    return {"links": len(links), "precision": float(right_ones.mean()), "reviews": reviewed}


def reviews(links: Links, right: np.ndarray, order: str, answers: int) -> dict[str, Any]:
    """The estimates after so many answers in one order, over REVIEWS shuffles of it."""
    held, width, error = [], [], []
    for state in range(REVIEWS):
        band, queues = banded(links, random_state=state)
        seen = np.zeros(len(links), bool)
        seen[queues[order][:answers]] = True
        found = estimate(count_bands(band, links.probability, seen & right, seen & ~right))
        assert found is not None, "there are links"
        held.append(found.low <= right.mean() <= found.high)
        width.append(found.high - found.low)
        error.append(abs(found.precision - right.mean()))
    means = {"held": np.mean(held), "width": np.mean(width), "error": np.mean(error)}
    return {"order": order, "answers": answers} | {name: round(float(value), 4) for name, value in means.items()}


def print_table(done: list[dict[str, Any]]) -> None:
    """The means over all trials, and the worst trial, as Markdown."""
    print(f"{sum(trial['links'] > 0 for trial in done)} of {len(done)} trials have links.")
    print(
        "| order | answers | interval held the truth (worst trial) | mean width | mean error |\n|---|---|---|---|---|"
    )
    for order, answers in product(ORDERS, ANSWERS):
        rows = [
            each for trial in done for each in trial["reviews"] if (each["order"], each["answers"]) == (order, answers)
        ]
        held, width, error = (np.array([row[name] for row in rows]) for name in ("held", "width", "error"))
        print(
            f"| {order} | {answers} | {held.mean():.0%} ({held.min():.0%}) | {100 * width.mean():.1f} points | "
            f"{100 * error.mean():.1f} points |"
        )
