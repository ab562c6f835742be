"""GEH's local path at a size where it must not hold links × clusters: time, and memory beside the vectors.

    veclink bench geh-local-memory [--rows 50000] [--memory 200MB] [--seeds 4000] [--iterations 2] [--device cpu]

The vectors are blends of the bundled papers (as `veclink bench linking` makes them), 30 % shared. Thousands of seeds
stand for a pool that has grown: a measure of time and memory, and not of accuracy. The path is the local one whatever
the size.
"""

from __future__ import annotations

import json
import platform
from functools import partial
from pathlib import Path

import numpy as np

from veclink.linkers.linking import link
from veclink_bench.arguments import parser
from veclink_bench.places import results_folder
from veclink_bench.speed.cpu import blended_papers, peak_extra_mb
from veclink_bench.splits import draw_seeds, split
from veclink_bench.versions import version_of

OVERLAP, NEIGHBOURS = 0.3, 10


def main() -> None:
    """Measure, print and write the result."""
    arguments = parser(__doc__)
    arguments.add_argument("--rows", type=int, default=50_000, help="of each side")
    arguments.add_argument("--memory", default="200MB")
    arguments.add_argument("--seeds", type=int, default=4_000)
    arguments.add_argument("--iterations", type=int, default=2)
    arguments.add_argument("--device", default="cpu")
    arguments.add_argument("--out", type=Path, default=results_folder("speed") / "geh_local.json")
    given = arguments.parse_args()
    rng = np.random.default_rng(0)
    left, right = blended_papers(round(given.rows * 2 / (1 + OVERLAP)))
    cut = split(len(left), OVERLAP, rng)
    a, b = left[cut.rows_a], right[cut.rows_b]
    run = partial(
        link,
        method="geh",
        path="local",
        neighbours=NEIGHBOURS,
        max_iterations=given.iterations,
        memory=given.memory,
        device=given.device,
    )
    run(a[:200], b[:200], seeds=[[row, row] for row in range(5)])  # loads what is compiled
    links, peak = peak_extra_mb(partial(run, a, b, seeds=draw_seeds(cut.truth, given.seeds, rng)))
    result = {
        "rows": [len(a), len(b)],
        "dimensions": [a.shape[1], b.shape[1]],
        "memory": given.memory,
        "neighbours": NEIGHBOURS,
        "seeds": given.seeds,
        "iterations": given.iterations,
        "device": given.device,
        "links": len(links),
        "seconds": round(links.summary.seconds or 0.0, 1),
        "peak_extra_mb": peak,
        "version": version_of("geh"),
        "machine": f"{platform.machine()} {platform.system()}",
    }
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result))
