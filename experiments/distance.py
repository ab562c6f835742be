"""Precision and confidence by distance to the nearest seed: `veclink bench distance`, from the repository.

python experiments/distance.py --data DIR [--full] [--jobs N]
"""

from __future__ import annotations

import sys

from veclink_bench.command import bench

if __name__ == "__main__":
    bench(["distance", *sys.argv[1:]])
