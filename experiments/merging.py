"""Retrieval from a merged collection, by overlap: `veclink bench merging`, from the repository.

python experiments/merging.py --data DIR [--full] [--jobs N]
"""

from __future__ import annotations

import sys

from veclink_bench.command import bench

if __name__ == "__main__":
    bench(["merging", *sys.argv[1:]])
