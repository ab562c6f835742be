"""Peak memory of linking collections that do not fit the budget, against holding them in memory.

    veclink bench out-of-core [--rows 20000] [--memory 60MB] [--out bench/results/speed/out_of_core.json]

`veclink link` runs on the same two .npy files with the small budget (rows are read from the file when asked) and
without one (both clouds are held as float32), each in a process of its own, and the system reports the peak resident
memory of each. `used_mb` is the peak less the input files, which are mapped and count as resident, and less the
baseline of a run on 60 rows. The vectors are blends of the bundled sample's papers in its two models, as in
`veclink_bench.speed.cpu.blended_papers`; a third of them are in both files.
"""

from __future__ import annotations

import csv
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

from veclink_bench.arguments import parser
from veclink_bench.places import results_folder
from veclink_bench.speed.memory import MB, peak_of_link

# As in memory.py, this process stays small: a child's peak starts from the size of its parent.
MAKE_INPUTS = """
import sys, numpy as np
from veclink_bench.speed.cpu import blended_papers
folder, rows = sys.argv[1], int(sys.argv[2])
shared = rows // 2
left, right = blended_papers(2 * rows - shared)
for name, vectors in (("a", left[:rows]), ("b", right[-rows:])):
    np.save(f"{folder}/{name}.npy", vectors)
    np.save(f"{folder}/{name}-cut.npy", vectors[:60])
"""


def main() -> None:
    """Measure, print and write the result."""
    arguments = parser(__doc__)
    arguments.add_argument("--rows", type=int, default=20_000)
    arguments.add_argument("--memory", default="60MB")
    arguments.add_argument("--out", type=Path, default=results_folder("speed") / "out_of_core.json")
    given = arguments.parse_args()

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([sys.executable, "-c", MAKE_INPUTS, name, str(given.rows)], check=True)
        # The files share rows // 2 objects: the last of A are the first of B.
        first = given.rows - given.rows // 2
        (folder / "seeds.csv").write_text("a,b\n" + "".join(f"{i},{i}\n" for i in range(15)))
        baseline, _ = peak_of_link(folder, "a-cut.npy", "b-cut.npy", given.memory)
        (folder / "seeds.csv").write_text("a,b\n" + "".join(f"{first + i},{i}\n" for i in range(0, 1500, 100)))
        inputs = sum((folder / file).stat().st_size for file in ("a.npy", "b.npy"))
        runs, found = {}, {}
        for memory in (given.memory, "4GB"):
            peak, summary = peak_of_link(folder, "a.npy", "b.npy", memory)
            with (folder / "links.csv").open() as file:
                found[memory] = {(row["a"], row["b"]) for row in csv.DictReader(file)}
            runs[memory] = {
                "peak_mb": round(peak / MB, 1),
                "used_mb": round((peak - baseline - inputs) / MB, 1),
                "seconds": round(summary["seconds"], 1),
                "verdict": summary["verdict"],
                "links": summary["n_links"],
            }

    small, roomy = found.values()
    result = {
        "command": "veclink link a.npy b.npy --seeds seeds.csv --memory MEMORY -o links.csv",
        "rows": [given.rows, given.rows],
        "dimensions": [384, 768],
        "inputs_mb": round(inputs / MB, 1),
        "dense_mb": round(2 * inputs / MB, 1),
        "baseline_mb": round(baseline / MB, 1),
        "runs": runs,
        "links_in_both": len(small & roomy),
        "links_in_one_only": len(small ^ roomy),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result, indent=2))
