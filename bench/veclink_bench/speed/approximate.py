"""The approximate pass against the exact one: time, and the recall it has beside the recall it reports.

    veclink bench approximate [--rows 20000 40000] [--out bench/results/speed/approximate.json]

The rows are signatures as `link` makes them for its final pass: two collections of blends of the bundled sample's
papers (`veclink_bench.speed.cpu.blended_papers`, 384 and 768 dimensions) that share half of their objects, along the
canonical axes of 2,000 true pairs. Both passes run on the same threads in the same process, each once after a small
one that loads the compiled loops. Seconds are of processor time, as other processes may share the machine;
`speedup` is exact / approximate.
"""

from __future__ import annotations

import json
import platform
import time
from pathlib import Path
from typing import Any

import numpy as np

from veclink.data.collection import Collection
from veclink.geometry.clouds import prepare
from veclink.geometry.signatures import canonical_projections, unit_rows
from veclink.matching import match
from veclink.matching.approximate import match_approximately
from veclink.matching.threads import thread_count
from veclink_bench.arguments import parser
from veclink_bench.places import results_folder
from veclink_bench.speed.cpu import blended_papers

DEPTH, K, KNOWN = 3, 10, 2_000


def main() -> None:
    """Measure, print and write the result."""
    arguments = parser(__doc__)
    arguments.add_argument("--rows", type=int, nargs="+", default=[20_000, 40_000])
    arguments.add_argument("--out", type=Path, default=results_folder("speed") / "approximate.json")
    given = arguments.parse_args()
    machine = f"{platform.machine()} {platform.system()}"
    result: dict[str, Any] = {"threads": thread_count(), "machine": machine, "runs": []}
    for rows in given.rows:
        result["runs"].append(measure(rows))
        given.out.write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result, indent=2))


def measure(rows: int) -> dict[str, Any]:
    """Seconds and recall of both passes."""
    left, right, truth = signatures(rows)
    for small in (match, match_approximately):
        small(left[:200], right[:200], k=K, depth=DEPTH)
    began = time.process_time()
    exact = match(left, right, k=K, depth=DEPTH, certain=1)
    middle = time.process_time()
    found = match_approximately(left, right, k=K, depth=DEPTH)
    ended = time.process_time()
    sides = ((exact.forward, found.matches.forward), (exact.backward, found.matches.backward))
    same = np.concatenate([one.index[:, 0] == other.index[:, 0] for one, other in sides])
    pairs, others = (_keys(each.mutual()[0], rows) for each in (exact, found.matches))
    true = _keys(truth, rows)
    return {
        "rows": [len(left), len(right)],
        "dim": int(left.shape[1]),
        "k": K,
        "depth": DEPTH,
        "cells": found.cells,
        "looked_into": found.looked_into,
        "seconds_exact": round(middle - began, 2),
        "seconds_approximate": round(ended - middle, 2),
        "speedup": round((middle - began) / (ended - middle), 2),
        "recall_of_best_partners": round(float(same.mean()), 4),
        "recall_reported": round(found.recall, 4),
        "rows_sampled": found.sampled,
        "mutual_pairs_exact": len(pairs),
        "mutual_pairs_kept": round(float(np.isin(pairs, others).mean()), 4),
        "true_pairs_exact": round(float(np.isin(true, pairs).mean()), 4),
        "true_pairs_approximate": round(float(np.isin(true, others).mean()), 4),
    }


def signatures(rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The rows of both sides, and the pairs that are the same object."""
    shared = rows // 2
    left, right = blended_papers(2 * rows - shared)
    truth = np.column_stack([np.arange(rows - shared, rows), np.arange(shared)])
    a, b = (prepare(Collection.from_array(side)).dense() for side in (left[:rows], right[-rows:]))
    known = truth[:: max(1, shared // KNOWN)]
    axes = canonical_projections(a[known[:, 0]], b[known[:, 1]])
    return unit_rows(a @ axes[0]), unit_rows(b @ axes[1]), truth


def _keys(pairs: np.ndarray, rows: int) -> np.ndarray:
    return pairs[:, 0] * rows + pairs[:, 1]
