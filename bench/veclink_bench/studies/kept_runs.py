"""Results of a study as one JSON file: what was asked, a summary, and one line for each run."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

Run = dict[str, Any]


def read_runs(path: Path) -> list[Run]:
    """The runs that a file holds; none where there is no file."""
    return json.loads(path.read_text())["runs"] if path.exists() else []


def write_runs(path: Path, told: dict[str, Any], runs: list[Run]) -> None:
    """Write what is told of the runs, and the runs, whole or not at all."""
    head = json.dumps(told, indent=1, ensure_ascii=False).removesuffix("\n}")
    lines = ",\n".join(f"  {json.dumps(run, ensure_ascii=False)}" for run in runs)
    part = path.with_suffix(".part")
    part.write_text(f'{head},\n "runs": [\n{lines}\n ]\n}}\n', encoding="utf-8")
    os.replace(part, path)
