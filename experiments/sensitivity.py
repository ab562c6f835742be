"""GEH's c, ρ0 and k; span's λ, views and k: `veclink bench sensitivity`, from the repository.

python experiments/sensitivity.py --data DIR [--full] [--jobs N]
"""

from __future__ import annotations

import sys

from veclink_bench.command import bench

if __name__ == "__main__":
    bench(["sensitivity", *sys.argv[1:]])
