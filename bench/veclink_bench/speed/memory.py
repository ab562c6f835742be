"""Resident memory of `veclink link --memory 500MB` on 5,000 x 5,000 vectors.

    veclink bench memory [--rows 5000] [--memory 500MB] [--out bench/results/speed/memory.json]

The same command runs in two processes, and the system reports the peak resident memory of each:
one on a cut of 60 rows (the baseline: interpreter, imports, compiled kernels), one on all rows.
`used_mb` is the peak less the input files and the baseline; `beyond_inputs_mb` is the peak less the input files only.
The vectors are made here: two noisy linear images (384 and 768 dimensions, float32) of the same 64-dimensional points.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from veclink_bench.arguments import parser
from veclink_bench.places import results_folder

# This process stays small and without numpy: a child's peak starts from the size of its parent.
MAKE_INPUTS = """
import sys, numpy as np
folder, rows = sys.argv[1], int(sys.argv[2])
rng = np.random.default_rng(0)
points = rng.standard_normal((rows, 64), dtype=np.float32)
for name, dimension in (("a", 384), ("b", 768)):
    image = points @ rng.standard_normal((64, dimension), dtype=np.float32)
    image += rng.standard_normal(image.shape, dtype=np.float32)
    np.save(f"{folder}/{name}.npy", image)
    np.save(f"{folder}/{name}-cut.npy", image[:60])
"""
RUN = "from veclink.cli.app import main; main()"
MB = 1_000_000


def main() -> None:
    """Measure, print and write the result."""
    arguments = parser(__doc__)
    arguments.add_argument("--rows", type=int, default=5_000)
    arguments.add_argument("--memory", default="500MB")
    arguments.add_argument("--out", type=Path, default=results_folder("speed") / "memory.json")
    given = arguments.parse_args()

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([sys.executable, "-c", MAKE_INPUTS, name, str(given.rows)], check=True)
        (folder / "seeds.csv").write_text("a,b\n" + "".join(f"{row},{row}\n" for row in range(15)))
        baseline, _ = peak_of_link(folder, "a-cut.npy", "b-cut.npy", given.memory)
        peak, summary = peak_of_link(folder, "a.npy", "b.npy", given.memory)
        inputs = sum((folder / file).stat().st_size for file in ("a.npy", "b.npy"))

    result = {
        "command": f"veclink link a.npy b.npy --seeds seeds.csv --memory {given.memory} -o links.csv",
        "rows": [given.rows, given.rows],
        "dimensions": [384, 768],
        "memory": given.memory,
        "inputs_mb": round(inputs / MB, 1),
        "baseline_mb": round(baseline / MB, 1),
        "peak_mb": round(peak / MB, 1),
        "used_mb": round((peak - baseline - inputs) / MB, 1),
        "beyond_inputs_mb": round((peak - inputs) / MB, 1),
        "verdict": summary["verdict"],
        "links": summary["n_links"],
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result, indent=2))


def peak_of_link(folder: Path, a: str, b: str, memory: str) -> tuple[int, dict[str, Any]]:
    """Peak resident bytes of one `veclink link` over two files of `folder`, and the summary that it printed."""
    files = [str(folder / a), str(folder / b), "--seeds", str(folder / "seeds.csv")]
    options = ["--memory", memory, "--json", "-o", str(folder / "links.csv")]
    with (folder / "summary.json").open("w+") as told:
        process = subprocess.Popen([sys.executable, "-c", RUN, "link", *files, *options], stdout=told)
        _, status, usage = os.wait4(process.pid, 0)
        code = process.returncode = os.waitstatus_to_exitcode(status)
        if code not in (0, 3):
            raise SystemExit(f"veclink link ended with exit code {code}.")
        told.seek(0)
        summary = json.load(told)
    return usage.ru_maxrss if sys.platform == "darwin" else usage.ru_maxrss * 1024, summary
