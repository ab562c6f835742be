"""Does `veclink inspect` tell a collection of one model from a mixture of two? On real vectors, several draws each.

    veclink bench two-models --data DIR [--out bench/results/experiments/two_models.json]

DIR holds a folder per corpus with MODEL.npy in each; row i is the same object in all of a corpus. Asked are:
each corpus in one model; two corpora in one model, half each (the hard case: far topics); and one corpus, some rows in
one model and the rest in another of the same dimension, or in the same model turned by a random rotation.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np

from veclink.data.collection import Collection
from veclink.probing.inspecting import inspect_collection
from veclink_bench.arguments import parser
from veclink_bench.places import results_folder

ROWS, DRAWS = 2_000, 3


def main() -> None:
    """Ask, print and write."""
    arguments = parser(__doc__, data=True)
    arguments.add_argument("--out", type=Path, default=results_folder("experiments") / "two_models.json")
    given = arguments.parse_args()
    models = {
        folder.name: {file.stem: file for file in sorted(folder.glob("*.npy")) if "." not in file.stem}
        for folder in sorted(given.data.iterdir())
        if folder.is_dir()
    }
    rows = []
    for case, name, vectors in cases(models):
        found = inspect_collection(Collection.from_array(vectors, name=name))
        rows.append({"case": case, "what": name, "two_models": found.two_models, "reason": found.reasons[0]})
    summary = {
        case: {"asked": len(answers), "said_two": sum(answers)}
        for case in dict.fromkeys(row["case"] for row in rows)
        if (answers := [bool(row["two_models"]) for row in rows if row["case"] == case])
    }
    given.out.write_text(json.dumps({"rows": ROWS, "draws": DRAWS, "summary": summary, "all": rows}, indent=1) + "\n")
    print(json.dumps(summary, indent=2))


def cases(models: dict[str, dict[str, Path]]) -> Iterator[tuple[str, str, np.ndarray]]:
    """The kind of mixture, a name for it, and the vectors."""
    for draw in range(DRAWS):
        rng = np.random.default_rng(draw)
        for corpus, files in models.items():
            for model, file in files.items():
                yield "one model", f"{corpus} {model}", some(np.load(file), ROWS, rng)
            for model, other in combinations(files, 2):
                first, second = np.load(files[model]), np.load(files[other])
                if first.shape == second.shape:
                    for share in (0.5, 0.2, 0.05):
                        mixed = mixture(first, second, share, rng)
                        yield f"two models, {share:.0%} of the second", f"{corpus} {model}+{other}", mixed
            for model in files:
                first = np.load(files[model]).astype(np.float32)
                turn, _ = np.linalg.qr(rng.standard_normal((first.shape[1],) * 2))
                mixed = mixture(first, first @ turn.astype(np.float32), 0.2, rng)
                yield "one model, 20% of it turned", f"{corpus} {model}", mixed
        for one, two in combinations(models, 2):
            for model in models[one].keys() & models[two].keys():
                parts = [some(np.load(models[corpus][model]), ROWS // 2, rng) for corpus in (one, two)]
                yield "one model, two corpora", f"{one}+{two} {model}", np.concatenate(parts)


def some(vectors: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Rows drawn without repetition."""
    return np.asarray(vectors[np.sort(rng.permutation(len(vectors))[:count])], np.float32)


def mixture(first: np.ndarray, second: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Different objects, `share` of them as `second` has them."""
    chosen = rng.permutation(len(first))[:ROWS]
    cut = int(len(chosen) * share)
    return np.concatenate([first[chosen[cut:]], second[chosen[:cut]]]).astype(np.float32)
