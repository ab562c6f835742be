"""Time and quality by number of rows: `veclink bench scalability`, from the repository.

python experiments/scalability.py --data DIR [--full] [--jobs N]
"""

from __future__ import annotations

import sys

from veclink_bench.command import bench

if __name__ == "__main__":
    bench(["scalability", *sys.argv[1:]])
