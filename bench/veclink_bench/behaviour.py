"""What methods measure on a cut of the bundled sample: the record that says which results are of another behaviour.

`record` writes results/behaviour.json, `replayed` says where the code no longer measures what stands there, and
`replayed_cells` where it no longer measures what tables show; for `veclink bench check`.
"""

from __future__ import annotations

import json
import random
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from veclink import open_collection, sample
from veclink.data.pairs import resolve_pairs
from veclink.errors import MissingExtra
from veclink.files.atomic import written_whole
from veclink_bench.diagnostics import nearest_rows
from veclink_bench.experiments import load
from veclink_bench.experiments.running import key_of
from veclink_bench.experiments.setup import Settings, Setup
from veclink_bench.experiments.trials import ALL_METHODS
from veclink_bench.versions import BEHAVIOUR, LINKERS, digest_of, is_current, method_of, recorded

ROWS, OTHERS, QUERIES = 420, 300, 40
EXPERIMENTS = ("main", "merging", "clustering", "merge-sure", "advise")
REPLAYED = ("main", "grid", "outside", "merging", "clustering")
QUICK = 5.0  # seconds of what is run again
SECONDS = ("seconds", "wall")
COUNTS = ("links", "iterations")  # which follow from another processor's last bits, and stand in no table
LEAST, SHARE = 0.5, 0.02  # points, or of the figure, that another processor may move it by
OF_A_CELL = 1.0  # points: maps from few pairs are less steady on a whole corpus than on the sample
Measured = dict[str, float]
"""Figures, by what they are of."""


def write_sample(folder: Path) -> None:
    """A folder of data like the one that experiments are run on, cut from the bundled sample: real vectors, few rows.

    papers (420 rows) and others (300), by minilm and mpnet; papers with queries, answers, labels and `half`, every
    second number of an mpnet vector, as a third model that is none of the two.
    """
    a, b = open_collection(sample.A), open_collection(sample.B)
    truth = resolve_pairs(sample.TRUTH, a, b)
    left, right = (np.asarray(side.vectors, np.float32)[rows] for side, rows in zip((a, b), truth.T, strict=True))
    for name, rows in (("papers", slice(0, ROWS)), ("others", slice(ROWS, ROWS + OTHERS))):
        (folder / name).mkdir()
        np.save(folder / name / "minilm.npy", left[rows].astype(np.float16))
        np.save(folder / name / "mpnet.npy", right[rows].astype(np.float16))
    # Queries are papers that are in neither collection; what answers one is what is nearest to it by the other model.
    asked = np.arange(ROWS + OTHERS, ROWS + OTHERS + QUERIES)
    papers = folder / "papers"
    np.save(papers / "half.npy", right[:ROWS, ::2].astype(np.float16))
    np.save(papers / "queries.mpnet.npy", right[asked])
    np.save(papers / "queries.minilm.npy", left[asked])
    both = np.concatenate([left[:ROWS], left[asked]])
    answers = [[row for row in near if row < ROWS][:1] for near in nearest_rows(both, ROWS + np.arange(QUERIES), 60)]
    found = [f"{query}\t{row}\t1" for query, rows in enumerate(answers) for row in rows]
    (papers / "qrels.tsv").write_text("\n".join(["query\tdocument\trelevance", *found]) + "\n")
    labels = np.argmax(left[:ROWS] @ left[:4].T, axis=1)  # the nearest of four papers
    (papers / "labels.txt").write_text("\n".join(f"label {each}" for each in labels) + "\n")


@cache
def runs(data: Path) -> dict[str, dict[str, Settings]]:
    """By method, the first cell that each experiment has of it; not of span and GEH, which are recorded elsewhere."""
    found: dict[str, dict[str, Settings]] = {}
    for name in EXPERIMENTS:
        setup = _setup(data, ALL_METHODS if name == "main" else ())
        for settings in load(name).cells(setup):
            if method_of(settings) not in LINKERS:
                found.setdefault(method_of(settings), {}).setdefault(name, settings)
    return found


def measured(method: str, data: Path) -> dict[str, Measured]:
    """The figures that a method measures on the sample, by experiment."""
    every = runs(data)[method].items()
    return {name: _figures(load(name).run(_setup(data), settings)) for name, settings in every}


def differing(before: dict[str, Measured], now: dict[str, Measured], least: float = LEAST) -> list[str]:
    """The figures that are not as they were, but for what another processor may do."""
    pairs = {
        f"{experiment} {name}": (before.get(experiment, {}).get(name, np.nan), value)
        for experiment, figures in now.items()
        for name, value in figures.items()
        if least == LEAST or name.split()[-1] not in COUNTS
    }
    far = {name: pair for name, pair in pairs.items() if not abs(pair[0] - pair[1]) <= max(least, SHARE * abs(pair[0]))}
    return [f"{name}: {old:g} → {new:g}" for name, (old, new) in far.items()]


def replayed(methods: list[str]) -> list[str]:
    """Where these methods no longer measure what is recorded, each told."""
    with TemporaryDirectory() as folder:
        data = Path(folder)
        write_sample(data)
        found = {}
        for method in methods:
            with suppress(MissingExtra):  # `make test` installs less than the laboratory needs
                found[method] = differing(recorded()[method]["measured"], measured(method, data))
    return [
        f"{method} behaves in another way than is recorded ({', '.join(told)}); if that is meant, `veclink bench check "
        "--record`, and measure its tables again."
        for method, told in found.items()
        if told
    ]


def replayed_cells(data: Path, count: int) -> list[str]:
    """Where cells of the tables measure something else now: so many, drawn from the quick ones that are current."""
    setup, known = Setup(data, full=True), []
    for name in REPLAYED:
        kept = json.loads((BEHAVIOUR.parent / "experiments" / f"{name}.json").read_text(encoding="utf-8"))["cells"]
        cells = [(settings, kept.get(key_of(settings), {})) for settings in load(name).cells(setup)]
        known += [(name, settings, cell) for settings, cell in cells if cell.get("wall", np.inf) < QUICK]
    known = [each for each in known if each[2].get("device", "cpu") == "cpu" and is_current(each[2])]
    found = []
    for name, settings, cell in random.sample(known, min(count, len(known))):
        with suppress(MissingExtra):
            told = differing({name: _figures(cell)}, {name: _figures(load(name).run(setup, settings))}, OF_A_CELL)
            found += [f"{key_of(settings)}: {', '.join(told)}; measure {name} again"] if told else []
    return found


def record() -> list[str]:
    """Write anew what differs, and forget the versions that it was the same as; the methods that changed."""
    known, changed = dict(recorded()), list[str]()
    with TemporaryDirectory() as folder:
        data = Path(folder)
        write_sample(data)
        for method in runs(data):
            began = time.process_time()
            now = measured(method, data)
            if method not in known or differing(known[method]["measured"], now):
                seconds = round(time.process_time() - began, 1)
                known[method] = {"seconds": seconds, "same_as": [], "measured": now}
                changed.append(method)
    for method in LINKERS:
        if method in known and known[method]["digest"] != digest_of(method):
            del known[method]
            changed.append(method)
    with written_whole(BEHAVIOUR) as temporary:
        lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(known[name])}" for name in sorted(known))
        temporary.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    return changed


def _setup(data: Path, methods: tuple[str, ...] = ()) -> Setup:
    return Setup(data, corpora=("papers",), models=("minilm", "mpnet"), methods=methods, trials=1)


def _figures(found: dict[str, Any], before: str = "") -> Measured:
    """All numbers of what a cell measured, by their path, but the seconds."""
    figures: Measured = {}
    for name, value in found.items():
        if isinstance(value, dict):
            figures |= _figures(value, f"{before}{name} ")
        elif isinstance(value, (int, float)) and name not in SECONDS:
            figures[f"{before}{name}"] = round(float(value), 2)
    return figures
