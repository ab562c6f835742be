"""What probe says on real vectors, beside what is true: kept in results/experiments/probe.json.

    veclink bench probe --data DIR [--minutes M]

DIR holds a folder per corpus with MODEL.npy in each, row i of every model being the same object. "spaces": the
same-space score of two models of one dimension, and of two halves of one model. "trial": 30 seeds of which 0, 5 or 15
are wrong, who names how many of either kind, and what 1,000 rows near them tell of linking everything. Parts that are
in the file are not run again.
"""

from __future__ import annotations

import json
import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from veclink import Collection, Links, link
from veclink.data.scores import score
from veclink.files.atomic import written_whole
from veclink.geometry.clouds import Cloud, prepare
from veclink.probing.forecast import link_part, wrong_seeds
from veclink.probing.sides import compare_spaces, look_at
from veclink_bench.arguments import parser
from veclink_bench.places import results_folder
from veclink_bench.splits import draw_seeds, split

RESULTS = results_folder("experiments") / "probe.json"
CORPORA = ("scifact", "nfcorpus", "papers", "reddit", "stackexchange", "movies")
TRIED = ("scifact", "nfcorpus", "reddit")
MODELS = (("minilm", "e5"), ("mpnet", "e5"), ("minilm", "mpnet"))
SEEDS, WRONG, STATES = 30, (0, 5, 15), (0, 1, 2, 3, 4)
PART = 1000


def cut(data: Path, corpus: str, models: tuple[str, str], state: int) -> tuple[Cloud, Cloud, np.ndarray]:
    """Two clouds that share 30 % of the objects, and the shared ones."""
    left, right = (np.load(data / corpus / f"{model}.npy") for model in models)
    parts = split(len(left), 0.3, np.random.default_rng(state))
    clouds = [prepare(Collection.from_array(each)) for each in (left[parts.rows_a], right[parts.rows_b])]
    return clouds[0], clouds[1], parts.truth


def trial(data: Path, corpus: str, models: tuple[str, str], wrong: int, state: int) -> dict[str, Any]:
    """Thirty seeds of which some are wrong: who names them, what a part forecasts, and what linking everything gives.

    The numbers of "part" are as the trial estimates them, before they are made a forecast of the whole.
    """
    a, b, truth = cut(data, corpus, models, state)
    given = draw_seeds(truth, SEEDS, np.random.default_rng(state))
    given[:wrong, 1] = np.roll(given[:wrong, 1], 1)
    tried = link_part(a, b, given, device="cpu", random_state=state, part=PART)
    links = link(a.collection, b.collection, seeds=given, device="cpu", random_state=state)
    true = score(links.pairs, truth)
    bad = set(map(tuple, given[:wrong].tolist()))

    def counts(named: tuple[tuple[int, int], ...] | None) -> dict[str, int] | None:
        return None if named is None else {"wrong": len(bad & set(named)), "right": len(set(named) - bad)}

    of_part = wrong_seeds(a, b, given, tried, state)
    return {
        "rows": [len(a), len(b)],
        "named by a probe of a part": counts(of_part),
        "named by linking": counts(links.summary.wrong_seeds),
        "named by one only": len(set(of_part or ()) ^ set(links.summary.wrong_seeds)),
        "part": _told(tried.links),
        "linked": _told(links),
        "true": {"precision": true.precision, "recall": true.recall, "overlap": len(truth)},
    }


def _told(links: Links) -> dict[str, Any]:
    names = ("verdict", "calibration", "n_links", "precision", "recall", "overlap", "seconds")
    return {name: getattr(links.summary, name) for name in names}


def spaces(data: Path, corpus: str) -> dict[str, Any]:
    """Same-space scores and, for each model, the share of rows that are nobody's neighbours."""
    rng = np.random.default_rng(0)
    minilm, e5 = (np.load(data / corpus / f"{model}.npy") for model in ("minilm", "e5"))
    half = rng.permutation(len(minilm))
    of = {
        "minilm": prepare(Collection.from_array(minilm[half[: len(half) // 2]])),
        "minilm, other rows": prepare(Collection.from_array(minilm[half[len(half) // 2 :]])),
        "e5": prepare(Collection.from_array(e5)),
    }
    other, same = (
        compare_spaces(of["minilm"], of["e5"], rng),
        compare_spaces(of["minilm"], of["minilm, other rows"], rng),
    )
    return {
        "two models": round(other.score or 0.0, 3),
        "one model": round(same.score or 0.0, 3),
        "orphans": {name: round(look_at(of[name], rng).orphans, 3) for name in ("minilm", "e5")},
    }


def main() -> None:
    """Run the parts that are missing, and print what all of them come to."""
    arguments = parser(__doc__, data=True)
    arguments.add_argument("--minutes", type=float, default=float("inf"), help="start no part after so many")
    options = arguments.parse_args()
    began = time.monotonic()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}

    def keep(name: str, run: Any, *settings: Any) -> None:
        if name not in results and time.monotonic() - began < 60 * options.minutes:
            results[name] = run(options.data, *settings)
            with written_whole(RESULTS) as temporary:
                temporary.write_text(json.dumps(results, indent=1) + "\n")

    for corpus in CORPORA:
        keep(f"spaces {corpus}", spaces, corpus)
    for models, state, corpus, wrong in product(MODELS, STATES, TRIED, WRONG):
        keep(f"trial {corpus} {'-'.join(models)} wrong={wrong} state={state}", trial, corpus, models, wrong, state)
    tell_seeds(results)


def tell_seeds(results: dict[str, Any]) -> None:
    """Print how many wrong and right seeds were named."""
    for corpus, wrong in product(TRIED, WRONG):
        start = f"trial {corpus} "
        cells = [cell for name, cell in results.items() if name.startswith(start) and f"wrong={wrong} " in name]
        print(f"{corpus}, {wrong} of {SEEDS} wrong, {len(cells)} trials")
        for who in ("named by linking", "named by a probe of a part"):
            told = [cell[who] for cell in cells if cell[who] is not None]
            bad, good = (sum(each[kind] for each in told) for kind in ("wrong", "right"))
            of_bad, of_good = wrong * len(told), (SEEDS - wrong) * len(told)
            silent = f"; nothing said in {len(cells) - len(told)} trials" if len(told) < len(cells) else ""
            print(f"  {who}: {bad} of {of_bad} wrong ones, {good} of {of_good} right ones{silent}")
