"""Overlap of the k nearest neighbours in two spaces: `veclink bench jaccard`, from the repository.

python experiments/jaccard.py --data DIR [--full] [--jobs N]
"""

from __future__ import annotations

import sys

from veclink_bench.command import bench

if __name__ == "__main__":
    bench(["jaccard", *sys.argv[1:]])
