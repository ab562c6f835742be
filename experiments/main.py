"""Methods × pairs × data, 30 % shared, 15 seeds: `veclink bench main`, from the repository.

python experiments/main.py --data DIR [--full] [--jobs N]
"""

from __future__ import annotations

import sys

from veclink_bench.command import bench

if __name__ == "__main__":
    bench(["main", *sys.argv[1:]])
