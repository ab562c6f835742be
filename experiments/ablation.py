"""What each part of GEH and of span brings: `veclink bench ablation`, from the repository.

python experiments/ablation.py --data DIR [--full] [--jobs N]
"""

from __future__ import annotations

import sys

from veclink_bench.command import bench

if __name__ == "__main__":
    bench(["ablation", *sys.argv[1:]])
