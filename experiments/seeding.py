"""How the seeds were chosen: `veclink bench seeding`, from the repository.

python experiments/seeding.py --data DIR [--full] [--jobs N]
"""

from __future__ import annotations

import sys

from veclink_bench.command import bench

if __name__ == "__main__":
    bench(["seeding", *sys.argv[1:]])
