"""Kills of every command that writes, on every target: nothing lost, nothing mixed, and every run after it equal.

    make faults                                        500 kills, written to bench/results/faults/kills.json
    python tests/faults/long_run.py --kills 40         fewer, and only printed

Half of the kills are before a call that changes the disk (a rename, a removal, an fsync, a write, a file opened for
writing), spread over all such calls of the command; the others come from outside, at any moment of it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")  # before numpy is imported
os.environ.setdefault("PYTHONWARNINGS", "ignore")  # of LanceDB, which does not like to be forked

PRELOADED = ["faults.warm", "faults.trials", "pyarrow.parquet", "veclink.cli.app", "veclink.uses.merging", "lancedb",
             "qdrant_client", "chromadb", "pymilvus", "psycopg", "apsw", "sqlite_vec", "duckdb", "faiss",
             "h5py"]  # fmt: skip


def main() -> int:
    """Run the trials and say what came of them; 1 where something was lost, mixed, or different."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--random-state", type=int, default=0)
    parser.add_argument("--only", default="", help="cases with this in their name")
    parser.add_argument("--short", action="store_true", help="some cases of every way of writing")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="veclink-faults-", ignore_cleanup_errors=True) as folder:
        result = _alone(given, Path(folder))
    text = json.dumps(result, indent=1, ensure_ascii=False) + "\n"
    if given.out is not None:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_text(text, encoding="utf-8")
    print(text)
    return int(bool(result["wrong"]) or result["kills"] < given.kills)


def _alone(given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    from faults.cases import SHORT, all_cases
    from faults.points import compiled

    library = compiled(folder)
    if library is not None:
        os.environ["LD_PRELOAD"] = str(library)  # for the processes that are forked below
    known = all_cases()
    cases = [known[name] for name in (SHORT if given.short else known) if given.only in name]
    result = run(folder, cases, given.kills, given.random_state)
    return {"counted": "the C library's calls" if library is not None else "Python's own calls", **result}


def run(root: Path, cases: list[Any], kills: int, random_state: int) -> dict[str, Any]:
    """`kills` kills, shared out over the cases."""
    import multiprocessing

    from faults.papers import write_papers
    from faults.server import postgres
    from faults.trials import SERVER, Room

    multiprocessing.get_context("forkserver").set_forkserver_preload(PRELOADED)
    rng, began = random.Random(random_state), time.monotonic()
    room, outcomes, expected = Room(root), [], {}
    write_papers(room.papers)
    with postgres() as url:
        os.environ[SERVER] = url
        by_name = {case.name: case for case in cases}
        for name, case in by_name.items():
            expected[name] = room.undisturbed(case)
            _say(f"{name}: {expected[name].points} points, {expected[name].seconds:.2f} s")
        turn = killed = 0
        for name, at_a_point in _turns(expected, 3 * kills):  # some end before they are killed
            ended = expected[name]
            if at_a_point and ended.points:
                outcome = room.trial(by_name[name], ended, point=rng.randint(1, ended.points))
            else:
                outcome = room.trial(by_name[name], ended, seconds=rng.uniform(0, ended.seconds))
            turn += 1
            killed += outcome.killed
            outcomes.append(outcome)
            if not outcome.good:
                _say(f"WRONG: {outcome}")
            if turn % 25 == 0:
                _say(f"{killed} kills, {time.monotonic() - began:.0f} s")
            if killed >= kills:
                break
    counted = [each for each in outcomes if each.killed]
    return {
        "kills": len(counted),
        "at_points": sum(each.point is not None for each in counted),
        "at_any_moment": sum(each.point is None for each in counted),
        "ended_before": len(outcomes) - len(counted),
        "found": dict(Counter(each.found if each.good else "wrong" for each in counted)),
        "reruns_equal": sum(each.again for each in outcomes),
        "reruns": len(outcomes),
        "wrong": [asdict(each) for each in outcomes if not each.good],
        "cases": {name: _of_case(name, expected[name], counted) for name in expected},
        "seconds": round(time.monotonic() - began),
    }


def _turns(expected: dict[str, Any], most: int) -> Iterator[tuple[str, bool]]:
    """Which case comes next, and whether it is killed at a point: all in turn, the slow third in every third round."""
    slow = sorted(each.seconds for each in expected.values())[len(expected) * 2 // 3]
    for turn in range(most):
        for name, ended in expected.items():
            if ended.seconds <= slow or turn % 3 == 0:
                yield name, turn // 3 % 2 == 0 if ended.seconds > slow else turn % 2 == 0


def _of_case(name: str, expected: Any, counted: list[Any]) -> dict[str, Any]:
    own = [each for each in counted if each.case == name]
    return {"points": expected.points, "kills": len(own), "found": dict(Counter(each.found for each in own))}


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
