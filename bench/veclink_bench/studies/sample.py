"""What the commands of "Start in five minutes" print of the bundled sample, and what a threshold costs there.

    veclink bench sample

`link` and `eval` run as a reader runs them, in processes of their own; `demo` would link the same again, so what it
prints is made of those links. Kept in results/experiments/sample.json, from which `veclink bench results --pages-only`
fills docs/start.md and docs/how-to/threshold.md.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from veclink import Links, open_collection, sample
from veclink.cli.links import Demo
from veclink.cli.shared import in_words
from veclink.confidence.intervals import thresholds
from veclink.data.pairs import resolve_pairs, score
from veclink.files.atomic import written_whole
from veclink_bench.arguments import parser
from veclink_bench.places import results_folder
from veclink_bench.versions import version_of

OUTPUT = results_folder("experiments") / "sample.json"
WANTED = 0.99  # the precision that the page on thresholds asks for


def main() -> None:
    """Run the commands, and keep what they print."""
    parser(__doc__).parse_args()
    measured = measure()
    with written_whole(OUTPUT) as temporary:
        temporary.write_text(json.dumps(measured, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{measured['links']:,} links; written to {OUTPUT}.")


def measure() -> dict[str, Any]:
    """What is printed, line by line, and the figures of the threshold."""
    with TemporaryDirectory() as folder:
        links, report = Path(folder, "links.parquet"), Path(folder, "report.html")
        given = (sample.A, sample.B, "--seeds", sample.SEEDS)
        printed = {
            "link": _printed(folder, "link", *given, "-o", links, "--report", report),
            "eval": _printed(folder, "eval", links, "--truth", sample.TRUTH),
        }
        found = Links.load(links)
        printed["demo"] = _demo(found)
        return {"version": version_of("span"), **threshold_figures(found), "printed": printed}


def threshold_figures(links: Links) -> dict[str, Any]:
    """What asking for a precision of 0.99 keeps and costs by the truth, in percent, and how cautious it is."""
    truth = _truth()
    sure = links.at(precision=WANTED)
    of_all, of_sure = score(links.pairs, truth), score(sure.pairs, truth)
    judged = links.considered
    return {
        "links": len(links),
        "recall": 100 * of_all.recall,
        "kept": len(sure),
        "kept_wrong": round(len(sure) * (1 - of_sure.precision)),
        "kept_recall": 100 * of_sure.recall,
        "kept_estimate": sure.summary.precision,
        "doubt": float(np.mean(1 - judged.probability)),
        "caution": links.summary.caution,
    }


def _truth() -> np.ndarray:
    return resolve_pairs(sample.TRUTH, open_collection(sample.A), open_collection(sample.B))


def _demo(links: Links) -> list[str]:
    """What `veclink demo` prints of these links, without single pairs."""
    truth = _truth()
    demo = Demo(links, score(links.pairs, truth), len(truth), int(links.evidence["given"].sum()), shown=[])
    return in_words("demo", demo=demo, thresholds=thresholds(links)).splitlines()


def _printed(folder: str, *arguments: object) -> list[str]:
    """The lines of a command on a terminal of 80 columns, with its files as the page names them."""
    told = subprocess.run(
        [sys.executable, "-m", "veclink", *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "COLUMNS": "80"},
        capture_output=True,
        text=True,
        check=True,
    )
    beside = f"{Path(sample.A).parent}{os.sep}"
    return told.stdout.replace(folder, "/tmp").replace(beside, "").splitlines()
