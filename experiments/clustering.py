"""Clusters of two collections at once: `veclink bench clustering`, from the repository.

python experiments/clustering.py --data DIR [--full] [--jobs N]
"""

from __future__ import annotations

import sys

from veclink_bench.command import bench

if __name__ == "__main__":
    bench(["clustering", *sys.argv[1:]])
