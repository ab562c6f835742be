"""Anchors from another corpus: target × source: `veclink bench outside`, from the repository.

python experiments/outside.py --data DIR [--full] [--jobs N]
"""

from __future__ import annotations

import sys

from veclink_bench.command import bench

if __name__ == "__main__":
    bench(["outside", *sys.argv[1:]])
