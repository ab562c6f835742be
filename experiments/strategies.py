"""View strategy × encoding over the overlap: `veclink bench strategies`, from the repository.

python experiments/strategies.py --data DIR [--full] [--jobs N]
"""

from __future__ import annotations

import sys

from veclink_bench.command import bench

if __name__ == "__main__":
    bench(["strategies", *sys.argv[1:]])
