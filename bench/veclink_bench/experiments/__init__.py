"""The paper's tables and figures, made again on real vectors: one module each, run by `veclink bench NAME`.

A module has a TITLE; `cells(setup)`, the settings of every cell (one trial of one thing); `run(setup, settings)`, what
one cell measured, as plain JSON values; `tables(cells)` and `draw(cells)`, from what was measured. Cells are
independent of one another, so a run can stop and go on, and use several processes.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from veclink.errors import InputError

EXPERIMENTS = {
    "main": "methods × pairs × data, 30 % shared, 15 seeds",
    "grid": "overlap × seeds",
    "ablation": "what each part of GEH and of span brings",
    "reading": "GEH by the strict reading of the paper, each difference switched alone",
    "tuning": "GEH's best settings: chosen on some pairs, reported on others",
    "strategies": "view strategy × encoding over the overlap",
    "outside": "anchors from another corpus: target × source",
    "seeding": "how the seeds were chosen",
    "sensitivity": "GEH's c, ρ0 and k; span's λ, views and k",
    "scalability": "time and quality by number of rows",
    "votes": "votes of true and of spurious pairs",
    "distance": "precision and confidence by distance to the nearest seed",
    "consistency": "correlation of distances in two spaces, by distance",
    "glove": "linking with GloVe means, which no contrastive loss made",
    "jaccard": "overlap of the k nearest neighbours in two spaces",
    "merging": "retrieval from a merged collection, by overlap",
    "merge-sure": "which links may make two rows one, and by which map the rest moves",
    "advise": "what `veclink advise` says of changing the model, beside what is true",
    "clustering": "clusters of two collections at once",
    "many": "three collections linked at once, against each two of them",
}
WITHOUT_LINKS = ("consistency", "jaccard")  # of vectors alone: no version of the code


def load(name: str) -> Any:
    """The module of an experiment."""
    if name not in EXPERIMENTS:
        raise InputError(f"There is no experiment {name!r}; there are {', '.join(EXPERIMENTS)}.")
    return import_module(f"veclink_bench.experiments.{name.replace('-', '_')}")
