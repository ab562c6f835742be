"""What probe says on real vectors, beside what is true: kept in results/probe.json.

    python experiments/probe.py --data DIR

DIR holds a folder per corpus with MODEL.npy in each, row i of every model being the same object. "seeds": 20 seeds of
which 4 are wrong, how many of either kind are named. "spaces": the same-space score of two models of one dimension, and
of two halves of one model. "forecast": what 1,000 rows near 15 seeds forecast, beside what linking everything gives.
Parts that are in the file are not run again.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from veclink import Collection, link
from veclink.anchors import anchors_from_pairs
from veclink.atomic import written_whole
from veclink.cloud import Cloud, prepare
from veclink.evaluation import draw_seeds, score, split
from veclink.probing.forecast import forecast_links
from veclink.probing.seeds import check_seeds
from veclink.probing.sides import compare_spaces, look_at

RESULTS = Path(__file__).parent / "results" / "probe.json"
CORPORA = ("scifact", "nfcorpus", "papers", "reddit", "stackexchange", "movies")
MODELS = (("minilm", "mpnet"), ("mpnet", "e5"), ("minilm", "e5"))
FORECAST = (("scifact", "minilm", "e5"), ("nfcorpus", "mpnet", "e5"), ("papers", "minilm", "mpnet"))


def cut(data: Path, corpus: str, models: tuple[str, str], state: int) -> tuple[Cloud, Cloud, np.ndarray]:
    """Two clouds that share 30 % of the objects, and the shared ones."""
    left, right = (np.load(data / corpus / f"{model}.npy") for model in models)
    parts = split(len(left), 0.3, np.random.default_rng(state))
    clouds = [prepare(Collection.from_array(each)) for each in (left[parts.rows_a], right[parts.rows_b])]
    return clouds[0], clouds[1], parts.truth


def seeds(data: Path, corpus: str, models: tuple[str, str], state: int) -> dict[str, Any]:
    """How many wrong and right seeds are named, and how far the typical seed is off."""
    a, b, truth = cut(data, corpus, models, state)
    rng = np.random.default_rng(state)
    given = draw_seeds(truth, 20, rng)
    given[:4, 1] = np.roll(given[:4, 1], 1)
    found = check_seeds(a, b, anchors_from_pairs(a, b, given), rng)
    named = {(x, y) for x, y, _ in found.suspects}
    wrong = set(map(tuple, given[:4].tolist()))
    return {"wrong named": len(named & wrong), "right named": len(named - wrong), "typical": round(found.typical, 4)}


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


def forecast(data: Path, corpus: str, models: tuple[str, str], state: int) -> dict[str, Any]:
    """Forecast and outcome."""
    a, b, truth = cut(data, corpus, models, state)
    given = draw_seeds(truth, 15, np.random.default_rng(state))
    ahead = forecast_links(a, b, given, device="cpu", random_state=state, most=0, part=1000)
    links = link(a.collection, b.collection, seeds=given, device="cpu", random_state=state)
    true = score(links.pairs, truth)
    assert ahead is not None
    return {
        "forecast": {name: getattr(ahead, name) for name in ("verdict", "precision", "recall", "shared", "seconds")},
        "estimated": {name: getattr(links.summary, name) for name in ("verdict", "precision", "recall", "seconds")},
        "true": {"precision": true.precision, "recall": true.recall},
    }


def main() -> None:
    """Run the parts that are missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    data = parser.parse_args().data
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}

    def keep(name: str, run: Any, *settings: Any) -> None:
        if name not in results:
            results[name] = run(data, *settings)
            print(name, results[name], flush=True)
            with written_whole(RESULTS) as temporary:
                temporary.write_text(json.dumps(results, indent=1) + "\n")

    for corpus in CORPORA:
        keep(f"spaces {corpus}", spaces, corpus)
        for models in MODELS if corpus != "movies" else MODELS[2:]:
            for state in (0, 1):
                keep(f"seeds {corpus} {'-'.join(models)} state={state}", seeds, corpus, models, state)
    for corpus, *models in FORECAST:
        keep(f"forecast {corpus} {'-'.join(models)}", forecast, corpus, tuple(models), 0)


if __name__ == "__main__":
    main()
