"""Votes of true and of spurious pairs: `veclink bench votes`, from the repository.

python experiments/votes.py --data DIR [--full] [--jobs N]
"""

from __future__ import annotations

import sys

from veclink_bench.command import bench

if __name__ == "__main__":
    bench(["votes", *sys.argv[1:]])
