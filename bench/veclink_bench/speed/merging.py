"""Merging N + N vectors of 384 dimensions into LanceDB: time, memory, and a run that is killed and taken up again.

    veclink bench merge-speed [--rows 1000000] [--folder DIR] [--out bench/results/speed/merging.json]

Three processes run the same command, `veclink merge a.npy b.npy --links links.parquet -o lancedb://… --yes`: one on
1,000 rows (the baseline: interpreter and imports), one on all rows to the end, and one that is killed (SIGKILL) when
half of A's rows are translated and again when half of all rows were handed to the table, and then run to its end.
The two tables are compared by a checksum of ids and vectors in their order. Peaks are those of the system
(ru_maxrss), which count the pages of mapped files too, and the largest anonymous memory that /proc showed.
The vectors are made here: two noisy linear images of the same 64-dimensional points; 30 % of the objects are linked.
"""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from veclink_bench.arguments import parser
from veclink_bench.places import results_folder

MB = 1_000_000
OVERLAP = 0.3
# This process stays small and without numpy: a child's peak starts from the size of its parent.
MAKE_INPUTS = """
import sys, numpy as np
from veclink.data.links import Links
from veclink.data.summary import Summary
folder, rows, overlap = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
rng = np.random.default_rng(0)
shared = int(overlap * rows)
images = [rng.standard_normal((64, 384), dtype=np.float32) for _ in range(2)]
outs = [np.lib.format.open_memmap(f"{folder}/{side}-{rows}.npy", "w+", np.float32, (rows, 384)) for side in "ab"]
for start in range(0, rows, 20_000):
    stop = min(start + 20_000, rows)
    common = rng.standard_normal((stop - start, 64), dtype=np.float32)
    for out, image in zip(outs, images):
        own = rng.standard_normal((stop - start, 64), dtype=np.float32)
        points = np.where((np.arange(start, stop) < shared)[:, None], common, own)
        out[start:stop] = points @ image + 2 * rng.standard_normal((stop - start, 384), dtype=np.float32)
pairs = np.column_stack([np.arange(shared)] * 2)
summary = Summary(method="made", n_a=rows, n_b=rows, n_links=shared)
Links(pairs, np.full(shared, 0.97), summary).save(f"{folder}/links-{rows}.parquet")
"""
CHECKSUM = """
import sys, hashlib
from veclink.stores import open_store
digest, rows = hashlib.sha256(), 0
with open_store(sys.argv[1]) as store:
    for batch in store.batches():
        digest.update(batch.ids.tobytes()); digest.update(batch.vectors.tobytes()); rows += len(batch)
print(rows, digest.hexdigest())
"""
RUN = "from veclink.cli.app import main; main()"
# From outside one cannot see how far the table is: the process counts the rows it hands over, and kills itself.
RUN_UNTIL_HALF_WRITTEN = """
import os, signal
from veclink.uses import merging
from veclink.cli.app import main
whole = merging.Merged._batches
def batches(merged, *arguments):
    rows = 0
    for batch in whole(merged, *arguments):
        rows += len(batch)
        if rows > len(merged.rows) // 2:
            os.kill(os.getpid(), signal.SIGKILL)
        yield batch
merging.Merged._batches = batches
main()
"""


def main() -> None:
    """Measure, print and write the result."""
    arguments = parser(__doc__)
    arguments.add_argument("--rows", type=int, default=1_000_000)
    arguments.add_argument("--map", default="blend")
    arguments.add_argument("--straight", action="store_true", help="leave out the run that is killed")
    arguments.add_argument("--folder", type=Path, help="where some gigabytes may be written; temporary files otherwise")
    arguments.add_argument("--out", type=Path, default=results_folder("speed") / "merging.json")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = Path(name)
        for rows in (1000, given.rows):
            subprocess.run([sys.executable, "-c", MAKE_INPUTS, name, str(rows), str(OVERLAP)], check=True)
        baseline = merge(folder, 1000, "baseline", given.map)
        straight = merge(folder, given.rows, "straight", given.map)
        killed = {} if given.straight else kill_and_resume(folder, given.rows, given.map)
    result = {
        "command": f"veclink merge a.npy b.npy --links links.parquet --map {given.map} -o lancedb://… --yes",
        "rows": [given.rows, given.rows],
        "dimension": 384,
        "linked": straight["told"]["linked"],
        "merged_rows": straight["told"]["rows"],
        "neighbours": straight["told"]["translator"]["quality"]["neighbours"],
        "inputs_mb": round(2 * given.rows * 384 * 4 / MB),
        "baseline_peak_mb": baseline["peak_mb"],
        "peak_mb": straight["peak_mb"],
        "anonymous_peak_mb": straight["anonymous_mb"],
        "seconds": straight["seconds"],
        **killed,
        "progress_lines": straight["lines"],
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result, indent=2))
    if killed and not killed["resumed_equals_straight"]:
        raise SystemExit("The resumed table differs from the straight one.")


def kill_and_resume(folder: Path, rows: int, kind: str) -> dict[str, Any]:
    """The run that is killed twice and then ends, compared with the one that was not."""
    expected = checksum(folder, "straight")
    subprocess.run(["rm", "-rf", str(folder / "straight")], check=True)
    kills = [
        merge(folder, rows, "resumed", kind, kill=("translating", 0.5)),
        merge(folder, rows, "resumed", kind, kill=("writing", 0.5)),
    ]
    resumed = merge(folder, rows, "resumed", kind)
    return {
        "killed_at": [kill["killed"] for kill in kills],
        "complete_when_killed": [kill["complete"] for kill in kills],
        "seconds_until_killed": [kill["seconds"] for kill in kills],
        "resumed_seconds": resumed["seconds"],
        "resumed_peak_mb": resumed["peak_mb"],
        "resumed_equals_straight": checksum(folder, "resumed") == expected,
    }


def merge(folder: Path, rows: int, name: str, kind: str, kill: tuple[str, float] | None = None) -> dict[str, Any]:
    """One run of the command; with `kill`, until that share of a stage is done."""
    files = [f"{folder}/a-{rows}.npy", f"{folder}/b-{rows}.npy", "--links", f"{folder}/links-{rows}.parquet"]
    options = ["-o", f"lancedb://{folder}/{name}#merged", "--map", kind, "--yes", "--replace", "--json"]
    environment = {**os.environ, "VECLINK_SCRATCH": str(folder)}
    code = RUN_UNTIL_HALF_WRITTEN if kill and kill[0] == "writing" else RUN
    began, anonymous, killed = time.perf_counter(), 0, "" if code == RUN else "50% of writing"
    with (folder / "out.json").open("w+") as told, (folder / "err.txt").open("w+") as log:
        process = subprocess.Popen(
            [sys.executable, "-c", code, "merge", *files, *options], stdout=told, stderr=log, env=environment
        )
        while True:
            done, status, usage = os.wait4(process.pid, os.WNOHANG)
            if done:
                break
            anonymous = max(anonymous, _anonymous(process.pid))
            if kill and not killed and _reached(folder, rows, kill[1]):
                killed = f"{kill[1]:.0%} of {kill[0]}"
                process.send_signal(signal.SIGKILL)
            time.sleep(0.02 if kill else 0.1)
        process.returncode = os.waitstatus_to_exitcode(status)
        log.seek(0)
        lines = log.read().splitlines()
        if process.returncode != (-signal.SIGKILL if kill else 0):
            raise SystemExit(f"veclink merge ended with {process.returncode}: {lines[-1:]}")
        told.seek(0)
        summary = None if kill else json.load(told)
    peak = usage.ru_maxrss if sys.platform == "darwin" else usage.ru_maxrss * 1024
    return {
        "told": summary,
        "peak_mb": round(peak / MB),
        "anonymous_mb": round(anonymous / MB),
        "seconds": round(time.perf_counter() - began, 1),
        "killed": killed,
        "complete": any((folder / name).rglob("_versions/*.manifest")),
        "lines": len(lines),
    }


def checksum(folder: Path, name: str) -> str:
    """Rows and a hash of all ids and vectors of a table."""
    command = [sys.executable, "-c", CHECKSUM, f"lancedb://{folder}/{name}#merged"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _reached(folder: Path, rows: int, share: float) -> bool:
    """Whether that share of A's own rows is translated."""
    alone = rows - int(OVERLAP * rows)
    return any(json.loads(each.read_text())["rows"] >= share * alone for each in folder.glob("*/state.json"))


def _anonymous(process: int) -> int:
    try:
        status = Path(f"/proc/{process}/status").read_text()
        return 1024 * int(status.split("RssAnon:")[1].split()[0])
    except (OSError, IndexError):  # it has just ended, or this is no Linux
        return 0
