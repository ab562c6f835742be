"""Exact CSLS mutual neighbours on the CPU, in units of one plain product of the same size in the same run.

    python benchmarks/matching.py [--rows 20000] [--dim 384] [--k 10] [--rounds 5] [--out FILE]

The same as `veclink bench matching`; `veclink_bench.speed.measure_matching` says what is compared.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from veclink_bench.speed import measure_matching


def main() -> None:
    """Measure, print and write the result."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rows", type=int, default=20_000)
    arguments.add_argument("--dim", type=int, default=384)
    arguments.add_argument("--k", type=int, default=10)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--out", type=Path, default=None)
    given = arguments.parse_args()
    text = json.dumps(measure_matching(given.rows, given.dim, k=given.k, rounds=given.rounds), indent=2)
    if given.out:
        given.out.write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
