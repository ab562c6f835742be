"""Overlap × seeds: `veclink bench grid`, from the repository.

python experiments/grid.py --data DIR [--full] [--jobs N]
"""

from __future__ import annotations

import sys

from veclink_bench.command import bench

if __name__ == "__main__":
    bench(["grid", *sys.argv[1:]])
