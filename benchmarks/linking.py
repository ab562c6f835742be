"""All of link() on the CPU, in units of one exact matching pass of the same size in the same run.

    python benchmarks/linking.py [--rows 37000] [--data A.npy B.npy] [--seeds 15] [--out FILE]

A.npy and B.npy hold vectors of the same objects by two models, row i of both being the same object; without them the
objects are blends of the bundled sample. The same as `veclink bench linking`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from veclink_bench.speed import measure_linking


def main() -> None:
    """Measure, print and write the result."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rows", type=int, default=37_000)
    arguments.add_argument("--data", type=Path, nargs=2, default=None)
    arguments.add_argument("--seeds", type=int, default=15)
    arguments.add_argument("--state", type=int, default=0)
    arguments.add_argument("--out", type=Path, default=None)
    given = arguments.parse_args()
    data = None if given.data is None else (np.load(given.data[0]), np.load(given.data[1]))
    result = measure_linking(given.rows, data=data, seeds=given.seeds, random_state=given.state)
    text = json.dumps(result, indent=2)
    if given.out:
        given.out.write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
