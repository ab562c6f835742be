"""What an experiment is run on: data, models, methods, trials. Small, and the same in every process."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from veclink.errors import InputError
from veclink_bench.corpora import corpora_in, vectors

QUICK_ROWS = 800
MODELS = ("minilm", "mpnet", "e5")
Settings = dict[str, Any]


@dataclass(frozen=True)
class Setup:
    """The choices of a run; where one is empty, an experiment takes its own.

    full: all of the corpora and trials; else the first `QUICK_ROWS` rows of one or two, and one trial. rows: the first
    rows of each corpus only.
    """

    data: Path
    full: bool = False
    corpora: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    trials: int | None = None
    rows: int | None = None
    device: str = "cpu"

    def pairs(self, corpora: Sequence[str], quick: Sequence[Sequence[str]]) -> list[list[str]]:
        """[corpus, model A, model B] of all pairs of models on all corpora, or the `quick` ones."""
        if not self.full and not self.corpora and not self.models:
            return [list(each) for each in quick]
        known = tuple(corpora_in(self.data)) if self.models else tuple(corpora)
        wanted = self.corpora or (known if self.full else known[:1])
        found = [
            [corpus, *pair]
            for corpus in wanted
            for pair in combinations(self.models or MODELS, 2)
            if self.models or all((self.data / corpus / f"{model}.npy").exists() for model in pair)
        ]
        if not found:
            raise InputError(
                f"There are no two models for {', '.join(wanted)} in {self.data}; name them with --models."
            )
        return found

    def one_pair(self, default: Sequence[str]) -> list[str]:
        """[corpus, model A, model B] for an experiment on one pair."""
        models = self.models or tuple(default[1:])
        if len(models) < 2:
            raise InputError(f"One model was given ({models[0]}); linking is between two.")
        return [(self.corpora or (default[0],))[0], *models[:2]]

    def states(self, full: int) -> range:
        """The random states of the trials."""
        return range(self.trials or (full if self.full else 1))

    def using(self, methods: Iterable[str]) -> list[str]:
        """Those of an experiment's methods that were asked for."""
        return [each for each in methods if not self.methods or each in self.methods]

    def vectors(self, corpus: str, model: str) -> np.ndarray:
        """The vectors of a corpus ("one+two" is both, one after the other), cut to the rows wanted."""
        rows = self.rows or (None if self.full else QUICK_ROWS)
        return np.concatenate([np.asarray(vectors(self.data, each, model, rows)) for each in corpus.split("+")])
