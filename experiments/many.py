"""Three collections linked at once, against each two of them: `veclink bench many`, from the repository.

python experiments/many.py --data DIR [--full] [--jobs N]
"""

from __future__ import annotations

import sys

from veclink_bench.command import bench

if __name__ == "__main__":
    bench(["many", *sys.argv[1:]])
