"""What the experiments with merged, clustered and many-way linked collections share: corpora, cuts, kept links.

DATA holds a folder per corpus with MODEL.npy in each, row i of every model being the same object; queries.MODEL.npy
and qrels.tsv (query, document, relevance as row numbers), or labels.txt, come with some of them.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from veclink import Links, link
from veclink.atomic import written_whole
from veclink.errors import InputError
from veclink.evaluation import Split, draw_seeds

RESULTS = Path(__file__).parent / "results"
ANSWERS_AT_MOST = 0.55  # of the documents: an overlap of 40 % without answers must still have room


@dataclass(frozen=True, eq=False)
class Corpus:
    """Documents and queries embedded by several models, with the graded answers of each query."""

    documents: dict[str, np.ndarray]
    queries: dict[str, np.ndarray]
    answers: dict[int, dict[int, int]]

    def __len__(self) -> int:
        return len(next(iter(self.documents.values())))

    def is_answer(self) -> np.ndarray:
        """Which documents answer a query."""
        marked = np.zeros(len(self), bool)
        marked[[document for found in self.answers.values() for document in found]] = True
        return marked


def read_corpus(folder: Path, models: tuple[str, ...]) -> Corpus:
    """A corpus with queries. Where nearly every document is an answer, queries are left out (the same ones always)."""
    documents = {model: np.load(folder / f"{model}.npy").astype(np.float32) for model in models}
    queries = {model: np.load(folder / f"queries.{model}.npy").astype(np.float32) for model in models}
    answers: dict[int, dict[int, int]] = {}
    for line in (folder / "qrels.tsv").read_text().splitlines()[1:]:
        query, document, relevance = map(int, line.split("\t"))
        answers.setdefault(query, {})[document] = relevance
    room, kept, marked = ANSWERS_AT_MOST * len(documents[models[0]]), {}, set()
    for query in np.random.default_rng(0).permutation(sorted(answers)).tolist():
        if len(marked | set(answers[query])) <= room:
            marked |= set(answers[query])
            kept[query] = answers[query]
    return Corpus(documents, queries, kept)


def read_labelled(folder: Path, models: tuple[str, ...]) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Vectors by model, and the label of each row as a number."""
    labels = (folder / "labels.txt").read_text().splitlines()
    vectors = {model: np.load(folder / f"{model}.npy").astype(np.float32) for model in models}
    return vectors, np.unique(labels, return_inverse=True)[1]


def split_without(marked: np.ndarray, overlap: float, rng: np.random.Generator) -> Split:
    """Cut a corpus as `veclink.evaluation.split` does, but none of the `marked` objects is in the overlap."""
    n, shared_count = len(marked), round(overlap * len(marked))
    free = np.flatnonzero(~marked)
    if shared_count > len(free):
        raise InputError(f"An overlap of {shared_count:,} was asked for, and {len(free):,} documents are no answers.")
    shared = rng.choice(free, shared_count, replace=False)
    rest = rng.permutation(np.setdiff1d(np.arange(n), shared))
    rows_a = rng.permutation(np.concatenate([shared, rest[: len(rest) // 2]]))
    rows_b = rng.permutation(np.concatenate([shared, rest[len(rest) // 2 :]]))
    place_a, place_b = np.empty(n, np.int64), np.empty(n, np.int64)
    place_a[rows_a], place_b[rows_b] = np.arange(len(rows_a)), np.arange(len(rows_b))
    return Split(rows_a, rows_b, np.stack([place_a[shared], place_b[shared]], axis=1))


def linked(
    a: np.ndarray, b: np.ndarray, cut: Split, n_seeds: int, state: int, kept: Path | None, name: str
) -> tuple[Links, np.ndarray]:
    """The links of a trial from `n_seeds` seeds, and the seeds; taken from the folder `kept` where they are there."""
    seeds = draw_seeds(cut.truth, n_seeds, np.random.default_rng([state, n_seeds]))
    file = None if kept is None else kept / f"{name}.parquet"
    if file is not None and file.exists():
        return Links.load(file), seeds
    links = link(a, b, seeds=seeds, random_state=state, device="cpu")
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        links.save(file)
    return links, seeds


def arguments(about: str | None, results: str) -> argparse.Namespace:
    """--data, --links (a folder that keeps links between runs), --out, --only, --states."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--links", type=Path, help="a folder where the links of every trial are kept and found again")
    parser.add_argument("--out", type=Path, default=RESULTS / results)
    parser.add_argument("--only", nargs="*", help="run the trials whose names hold one of these")
    parser.add_argument("--states", type=int, default=5, help="how many random splits")
    parser.add_argument("--again", action="store_true", help="run trials that are in the results already")
    return parser.parse_args()


class Results:
    """A JSON file of trials by name; written after every trial, so that a run can be stopped and taken up again."""

    def __init__(self, file: Path, again: bool = False) -> None:
        self.file = file
        self.trials: dict[str, Any] = {} if again or not file.exists() else json.loads(file.read_text())

    def __contains__(self, name: str) -> bool:
        return name in self.trials

    def add(self, name: str, trial: dict[str, Any]) -> None:
        """Keep a trial."""
        self.trials[name] = trial
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(self.file) as temporary:
            temporary.write_text(json.dumps(dict(sorted(self.trials.items())), indent=1) + "\n")
