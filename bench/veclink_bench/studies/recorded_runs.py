"""Forty-two runs of every kind, recorded, to show that a change of the code did not change the links.

    veclink bench recorded-runs --data DIR --into NEW [--only TEXT …] [--against OLD] [--output FILE.json]

Every run's pairs and probabilities, those below the threshold included, are saved as NEW/NAME.npz. Where OLD holds a
record of another version, the two are compared: equal bit for bit, or the same pairs and by how much the probabilities
differ. A run that is in NEW already is not run again. One thread, so that no sum depends on the machine's cores.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import veclink
from veclink import __version__
from veclink import backends as devices
from veclink_bench.arguments import parser

TORCH_ON_CPU = "torch:cpu"  # the GPU's code, without a GPU
PAIRS = (("minilm", "mpnet"), ("minilm", "e5"), ("mpnet", "e5"))
MORE_PAIRS = (("minilm", "granite"), ("granite", "e5"), ("mpnet", "granite"), ("glove", "minilm"))
BLENDS = 13_000  # rows, more than are matched whole


@dataclass(frozen=True)
class Run:
    """One run: how the corpus is cut, what it starts from, and with which options.

    small: (rows of A, shared ones) where the sides are unequal. start: seeds, right ones unless the number is negative;
    "anchors", "blends", "torch" or "many" name other kinds of runs.
    """

    name: str
    corpus: str
    models: tuple[str, str]
    overlap: float
    state: int
    rows: int | None
    small: tuple[int, int] | None = None
    start: int | str = 15
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Cut:
    """Two sides of a corpus, and the true pairs of their rows in random order."""

    a: np.ndarray
    b: np.ndarray
    pairs: np.ndarray


def runs() -> list[Run]:
    """All of them."""
    listed = [
        Run(f"{corpus} {a}-{b} .3 15", corpus, (a, b), 0.3, 0, 2000)
        for corpus in ("scifact", "nfcorpus", "reddit", "stackexchange", "papers")
        for a, b in PAIRS
    ]
    listed += [
        Run(f"{corpus} {a}-{b} .3 15", corpus, (a, b), 0.3, 1, 1800)
        for corpus in ("scifact", "nfcorpus")
        for a, b in MORE_PAIRS
    ]
    listed += [
        Run(f"{corpus} {models[0]}-{models[1]} none", corpus, models, 0.4, 0, 1600, start=0)
        for corpus, models in (("scifact", PAIRS[0]), ("nfcorpus", PAIRS[1]), ("nfcorpus", PAIRS[2]))
    ]
    geh = {"method": "geh"}
    listed += [Run(f"{corpus} geh", corpus, PAIRS[0], 0.3, 0, 1500, options=geh) for corpus in ("scifact", "nfcorpus")]
    return [
        *listed,
        Run("movies minilm-e5 30", "movies", PAIRS[1], 0.3, 0, 3000, start=30),
        Run("scifact .15 8", "scifact", PAIRS[1], 0.15, 2, 2500, start=8),
        Run("scifact .05 15", "scifact", PAIRS[0], 0.05, 2, 3000),
        Run("nfcorpus wrong seeds", "nfcorpus", PAIRS[1], 0.3, 3, 2000, start=-30),
        Run("unequal", "scifact", PAIRS[1], 0.0, 0, 3500, small=(500, 500)),
        Run("nothing shared", "nfcorpus", PAIRS[1], 0.0, 0, 1500, start=0),
        Run("candidates", "reddit", PAIRS[0], 0.3, 0, 1500, options={"one_to_one": False}),
        Run("geh local", "nfcorpus", PAIRS[0], 0.3, 0, 1500, options=geh | {"path": "local"}),
        Run("anchors", "nfcorpus", PAIRS[1], 0.3, 0, 1800, start="anchors"),
        Run("memory", "papers", PAIRS[1], 0.3, 0, 3000, options={"memory": "300MB"}),
        Run("large", "papers", PAIRS[1], 0.3, 0, None, start="blends"),
        Run("torch", "nfcorpus", PAIRS[1], 0.3, 0, 2000, start="torch"),
        Run("torch geh", "nfcorpus", PAIRS[0], 0.3, 0, 1200, start="torch", options=geh),
        Run("many", "reddit", PAIRS[1], 0.3, 0, 1500, start="many"),
    ]


def vectors(data: Path, corpus: str, model: str) -> np.ndarray:
    """The vectors of one corpus by one model, float32."""
    return np.load(data / corpus / f"{model}.npy").astype(np.float32)


def cut(data: Path, run: Run) -> Cut:
    """The two sides of a run."""
    a, b = (vectors(data, run.corpus, model) for model in run.models)
    rng = np.random.default_rng(1000 + run.state)
    rows = rng.permutation(len(a))[: run.rows or len(a)]
    if run.small is None:
        shared = int(run.overlap * len(rows))
        half = shared + (len(rows) - shared) // 2
        rows_a, rows_b = rows[:half], np.r_[rows[:shared], rows[half:]]
    else:
        n_a, shared = run.small
        rows_a, rows_b = rows[:n_a], np.r_[rows[:shared], rows[n_a:]]
    rows_a, rows_b = rng.permutation(rows_a), rng.permutation(rows_b)
    place = {row: i for i, row in enumerate(rows_b)}
    truth = np.array([(i, place[row]) for i, row in enumerate(rows_a) if row in place]).reshape(-1, 2)
    return Cut(a[rows_a], b[rows_b], truth[rng.permutation(len(truth))])


def linked(data: Path, run: Run) -> list[veclink.Links]:
    """The links of a run; of several collections, those of each two."""
    sides = cut(data, run)
    if run.start == "many":
        third = vectors(data, run.corpus, "mpnet")[:1200]
        return list(veclink.link_many([sides.a, sides.b, third]).pairwise.values())
    if run.start == "blends":
        return [blended(data, run)]
    options = dict(run.options)
    if run.start == "anchors":
        options["anchors"] = tuple(vectors(data, "scifact", model)[:40] for model in run.models)
    elif run.start == "torch":
        devices.DEVICES = ("auto", "cpu", TORCH_ON_CPU)
        options |= {"device": TORCH_ON_CPU, "seeds": sides.pairs[:15]}
    elif isinstance(run.start, int) and run.start:
        options["seeds"] = some_wrong(sides.pairs[: abs(run.start)], run.start < 0)
    return [veclink.link(sides.a, sides.b, **options)]


def some_wrong(seeds: np.ndarray, wrong: bool) -> np.ndarray:
    """The seeds, or half of them with one another's partners."""
    seeds, half = seeds.copy(), len(seeds) // 2
    if wrong:
        seeds[:half, 1] = np.roll(seeds[:half, 1], 1)
    return seeds


def blended(data: Path, run: Run) -> veclink.Links:
    """Links of so many blends of two rows each that growing looks at samples of them."""
    sides = cut(data, run)
    rng = np.random.default_rng(5)
    rng.integers(0, len(sides.a), (BLENDS,))
    rng.integers(0, len(sides.a), (BLENDS,))
    share = rng.uniform(0.2, 0.8, (BLENDS, 1)).astype(np.float32)
    a, b = (vectors(data, run.corpus, model) for model in run.models)
    one, other = rng.integers(0, len(a), BLENDS), rng.integers(0, len(a), BLENDS)
    order = rng.permutation(BLENDS)
    seeds = np.column_stack([order[:15], np.arange(15)])
    left, right = (share * each[one] + (1 - share) * each[other] for each in (a, b))
    return veclink.link(left, right[order], seeds=seeds)


def record(data: Path, run: Run, folder: Path) -> None:
    """Save the links of a run."""
    found = linked(data, run)
    whole = [each if each.considered is None else each.considered for each in found]
    np.savez_compressed(
        path_of(folder, run),
        pairs=np.concatenate([each.pairs for each in found]),
        probability=np.concatenate([each.probability for each in found]),
        all_pairs=np.concatenate([each.pairs for each in whole]),
        all_p=np.concatenate([each.probability for each in whole]),
        verdict=np.array([each.summary.verdict for each in found]),
    )


def path_of(folder: Path, run: Run) -> Path:
    """Where a run is recorded."""
    return folder / (run.name.replace(" ", "_") + ".npz")


def compare(old: Path, new: Path) -> dict[str, Any]:
    """How one record differs from another."""
    before, after = np.load(old), np.load(new)
    if all(np.array_equal(before[name].ravel(), after[name].ravel()) for name in before.files):
        return {"links": len(after["pairs"]), "same": "bit for bit"}
    same = np.array_equal(before["pairs"], after["pairs"])
    change = float(np.abs(before["probability"] - after["probability"]).max()) if same else None
    return {"links": len(after["pairs"]), "same": "pairs" if same else "no", "probability": change}


def main() -> None:
    """Record what is missing, and compare it."""
    arguments = parser(__doc__, data=True)
    arguments.add_argument("--into", type=Path, required=True, help="folder of this record")
    arguments.add_argument("--against", type=Path, help="folder of another version's record")
    arguments.add_argument("--only", nargs="*", default=[], help="runs whose names hold one of these texts")
    arguments.add_argument("--output", type=Path, help="where the comparison is written: .json")
    options = arguments.parse_args()
    options.into.mkdir(parents=True, exist_ok=True)
    cells = {}
    for run in runs():
        if options.only and not any(text in run.name for text in options.only):
            continue
        if not path_of(options.into, run).exists():
            record(options.data, run, options.into)
        if options.against is not None and path_of(options.against, run).exists():
            cells[run.name] = compare(path_of(options.against, run), path_of(options.into, run))
            print(run.name, cells[run.name], flush=True)
    if options.output is not None:
        options.output.write_text(json.dumps({"version": __version__, "runs": cells}, indent=1) + "\n")
