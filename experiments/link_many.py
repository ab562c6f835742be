"""Three collections linked at once, against each two of them alone: results/link_many.json.

    python experiments/link_many.py --data DIR [--only scifact …] [--states 3]

A corpus is cut into three collections of minilm, mpnet and e5 vectors: 20 % of the objects are in all three, 10 % in
each two, the rest in one. Each pair of collections has 15 seeds. F1 of the pairwise runs and of the reconciled objects,
over the same true pairs.
"""

from __future__ import annotations

import itertools
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from corpora import Results, arguments

from veclink import link_many
from veclink.evaluation import draw_seeds, score

MODELS = ("minilm", "mpnet", "e5")
CORPORA = ("scifact", "nfcorpus", "papers", "reddit")
IN_ALL, IN_TWO, N_SEEDS = 0.2, 0.1, 15


def cut_in_three(n: int, rng: np.random.Generator) -> tuple[list[np.ndarray], dict[tuple[int, int], np.ndarray]]:
    """The corpus rows of three collections, shuffled, and the true pairs of each two."""
    order = rng.permutation(n)
    bounds = np.cumsum([round(IN_ALL * n), *[round(IN_TWO * n)] * 3])
    every, *twos, rest = np.split(order, bounds)
    alone = np.array_split(rest, 3)
    ends = list(itertools.combinations(range(3), 2))
    rows = [
        rng.permutation(
            np.concatenate([every, alone[c], *(two for two, pair in zip(twos, ends, strict=True) if c in pair)])
        )
        for c in range(3)
    ]
    place = np.full((3, n), -1)
    for c in range(3):
        place[c, rows[c]] = np.arange(len(rows[c]))
    truth = {}
    for i, j in ends:
        both = np.flatnonzero((place[i] >= 0) & (place[j] >= 0))
        truth[i, j] = np.column_stack([place[i, both], place[j, both]])
    return rows, truth


def trial(data: Path, corpus: str, state: int) -> dict[str, Any]:
    """Pairwise and reconciled scores on one cut."""
    vectors = [np.load(data / corpus / f"{model}.npy").astype(np.float32) for model in MODELS]
    rng = np.random.default_rng(state)
    rows, truth = cut_in_three(len(vectors[0]), rng)
    seeds = {ends: draw_seeds(pairs, N_SEEDS, rng) for ends, pairs in truth.items()}
    sides = [side[chosen] for side, chosen in zip(vectors, rows, strict=True)]
    found = link_many(sides, seeds=seeds, random_state=state, device="cpu")
    told: dict[str, Any] = {"sizes": [len(side) for side in sides], "objects": len(found)}
    for name, pairs_of in (("pairwise", lambda i, j: found.pairwise[i, j].pairs), ("together", found.pairs)):
        told[name] = {
            f"{MODELS[i]}-{MODELS[j]}": {
                key: round(100 * value, 2) for key, value in asdict(score(pairs_of(i, j), pairs)).items()
            }
            for (i, j), pairs in truth.items()
        }
        told[f"{name}_f1"] = round(float(np.mean([each["f1"] for each in told[name].values()])), 2)
    return told


def main() -> None:
    """Run the trials that are not in the results yet."""
    given = arguments(__doc__, "link_many.json")
    results = Results(given.out, given.again)
    for corpus in CORPORA:
        for state in range(given.states):
            name = f"{corpus}-{state}"
            if name in results or (given.only and not any(each in name for each in given.only)):
                continue
            results.add(name, trial(given.data, corpus, state))
            told = results.trials[name]
            print(name, told["pairwise_f1"], told["together_f1"], file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
