"""Where things lie: the vectors experiments run on, the results, their page, the pictures of the documentation."""

from __future__ import annotations

import os
from pathlib import Path

from veclink.errors import InputError

BENCH = Path(__file__).parents[1]
ROOT = BENCH.parent
PAGE = BENCH / "RESULTS.md"
PICTURES = ROOT / "docs" / "pictures"
DATA_VARIABLE = "VECLINK_DATA"


def data_folder(given: str | Path | None) -> Path:
    """The folder of data: the one given, else the one that $VECLINK_DATA names."""
    named = given or os.environ.get(DATA_VARIABLE)
    if not named:
        raise InputError(
            f"There is no folder of data; name one with --data or in ${DATA_VARIABLE}: a folder per corpus, MODEL.npy "
            "in each, row i of every model being the same object."
        )
    folder = Path(named)
    if not folder.is_dir():
        raise InputError(f"The folder of data {folder} does not exist; give one that holds a folder per corpus.")
    return folder


def results_folder(kind: str) -> Path:
    """The folder of committed results, `experiments` or `speed`; ./results/KIND where there is no repository."""
    committed = BENCH / "results"
    return committed / kind if committed.is_dir() else Path("results") / kind
