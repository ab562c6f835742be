"""Correlation of distances in two spaces, by distance: `veclink bench consistency`, from the repository.

python experiments/consistency.py --data DIR [--full] [--jobs N]
"""

from __future__ import annotations

import sys

from veclink_bench.command import bench

if __name__ == "__main__":
    bench(["consistency", *sys.argv[1:]])
