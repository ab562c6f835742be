"""Many cases, each from a number alone, in processes that may die: `python -m fuzz.campaign --cases 100000`.

A case is a target and a seed, and is made anew from them. The process that runs the cases may not take more memory
than MEMORY beyond what it began with, nor longer than SECONDS over one case; where it dies or hangs, the case that it
was at is a fault, and another process goes on with the next one.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import resource
import shutil
import sys
import time
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from fuzz import specimens
from fuzz.running import Fault, begin, forget, said
from fuzz.targets import BY_NAME, TARGETS

MEMORY = 1_000_000_000
ADDRESSES = 4 * MEMORY
"""What a process may map beyond what it began with: mapping is not using, but it bounds the harm to this machine."""
SECONDS = 20.0
FIRST_SECONDS = 120.0
"""How long a case may take, and the first one, for which everything is imported."""
TOO_MUCH = "fault: took more memory than it may: "
WAYS = 5
"""Ways in which a kept input is read."""
Case = tuple[str, int]
"""The name of a target, perhaps with @ and more, and a seed; where it is negative, what is there is read as it is."""
_spawn = multiprocessing.get_context("spawn")


@dataclass
class Tally:
    """How the cases of one target ended."""

    cases: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    faults: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0
    slowest: float = 0.0
    peak: int = 0

    def note(self, case: Case, ended: str, peak: int, seconds: float) -> None:
        """Count one case."""
        self.cases += 1
        self.peak, self.slowest = max(self.peak, peak), max(self.slowest, seconds)
        self.seconds += seconds
        self.ended["fault" if ended.startswith("fault") else ended] += 1
        if ended.startswith("fault") and len(self.faults) < 20:
            self.faults.append({"target": case[0], "seed": case[1], "what": ended[-500:]})


def run_all(counts: dict[str, int], folder: Path, *, first: int = 0, keep: Path | None = None) -> dict[str, Tally]:
    """Run so many cases of each target, with seeds from `first` on.

    keep: a folder where the files of each case that ended in a fault are left.
    """
    _made_in_child(list(counts), folder)
    tallies = {name: Tally() for name in counts}
    for lives in sorted({BY_NAME[name].lives for name in counts}):
        alike = [name for name in counts if BY_NAME[name].lives == lives]
        _run_cases([(name, first + each) for name in alike for each in range(counts[name])], folder, tallies, keep)
    return tallies


def replay(kept: list[Path], folder: Path) -> list[tuple[str, str]]:
    """Read what each of these folders holds in several ways; the names of those that end in a fault, and how.

    A folder is called by its target, a dash and anything without one.
    """
    _made_in_child([], folder)
    names = {f"{path.name.rpartition('-')[0].replace('-', ' ')}@{path.name}": path for path in kept}
    for name, path in names.items():
        shutil.copytree(path, folder / "right" / name)
    tallies = {name: Tally() for name in names}
    _run_cases([(name, -way) for name in names for way in range(1, WAYS)], folder, tallies, None)
    return [(names[name].name, tally.faults[0]["what"]) for name, tally in tallies.items() if tally.faults]


def shares(cases: int) -> dict[str, int]:
    """How many of all cases each target gets; at least one."""
    whole = sum(target.share for target in TARGETS)
    return {target.name: max(1, round(cases * target.share / whole)) for target in TARGETS}


def _made_in_child(names: list[str], folder: Path) -> None:
    """What is right, made in a process that ends: some clients leave threads behind, which a fork does not survive."""
    process = _spawn.Process(target=_make, args=(names, folder))
    process.start()
    process.join()
    if process.exitcode:
        raise RuntimeError(f"The specimens could not be made (exit code {process.exitcode}).")


def _make(names: list[str], folder: Path) -> None:
    (folder / "shared").mkdir(parents=True)
    specimens.make_shared(folder / "shared")
    for name in names:
        place = folder / "right" / name
        place.mkdir(parents=True)
        BY_NAME[name].make(place)
    sys.stdout.flush()
    os._exit(0)  # without waiting for a client's threads


def _run_cases(cases: list[Case], folder: Path, tallies: dict[str, Tally], keep: Path | None) -> None:
    """Run cases in processes of so many at most as their targets allow."""
    while cases:
        lives = BY_NAME[cases[0][0].partition("@")[0]].lives
        cases = cases[_run_process(cases[:lives], folder, tallies, keep) :]


def _run_process(cases: list[Case], folder: Path, tallies: dict[str, Tally], keep: Path | None) -> int:
    """Run cases in one process until it ends; how many were done, the one that ended it included."""
    here, there = _spawn.Pipe(duplex=False)
    process = _spawn.Process(target=_work, args=(cases, folder, there, keep))
    process.start()
    there.close()
    done, fault = 0, None
    try:
        for case in cases:
            if not here.poll(SECONDS if done else FIRST_SECONDS):
                fault = f"fault: no answer within {SECONDS:.0f} s"
                break
            ended, peak, seconds = here.recv()
            done += 1
            tallies[case[0]].note(case, ended, peak, seconds)
            if ended.startswith(TOO_MUCH):
                break
    except EOFError:
        process.join()
        fault = f"fault: the process ended with {process.exitcode}"
    if fault is not None:
        tallies[cases[done][0]].note(cases[done], fault, 0, SECONDS)
        _keep(cases[done], fault, folder, keep)
        done += 1
    process.kill()
    process.join()
    here.close()
    return done


def _keep(case: Case, what: str, folder: Path, keep: Path | None) -> None:
    """Leave the files of a case, and what is wrong with it."""
    if keep is None:
        return
    keep.mkdir(parents=True, exist_ok=True)
    name = f"{case[0]}-{case[1]}".replace(" ", "-")
    (keep / f"{name}.txt").write_text(what)
    if (folder / "work").exists():
        shutil.copytree(folder / "work", keep / name, dirs_exist_ok=True)


def _work(cases: list[Case], folder: Path, told: Any, keep: Path | None) -> None:
    """Run cases and tell how each ended, in a process with limits."""
    warnings.simplefilter("ignore")
    specimens.use_shared(folder / "shared")
    os.chdir(folder)
    begin(folder / "said.txt")
    before = dict[str, int]()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for name, seed in cases:
        if name not in before:  # everything is imported before the memory is measured
            _limit(None)
            if seed >= 0:
                _case(name, folder, Random(f"{name} warm"), right=True)
            before[name] = _peak()
            _limit(ADDRESSES)
        began = time.monotonic()
        ended = _case(name, folder, Random(f"{name} {seed}"), right=seed < 0)
        used = _peak() - before[name]
        if used > MEMORY:
            ended = f"{TOO_MUCH}{used:,} bytes"
        if ended.startswith("fault"):
            _keep((name, seed), ended, folder, keep)
        told.send((ended, used, time.monotonic() - began))
        if used > MEMORY:
            break
    told.close()
    os._exit(0)


def _limit(more: int | None) -> None:
    """Let this process map so many bytes more than now; None lifts the limit."""
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    most = resource.RLIM_INFINITY if more is None else mapped + more
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))


def _case(name: str, folder: Path, rng: Random, *, right: bool) -> str:
    """How one case ended; 'fault: …' where it may not end so."""
    target, work = BY_NAME[name.partition("@")[0]], folder / "work"
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(folder / "right" / name, work)
    try:
        if not right:
            target.mutate(work, rng)
        ended = target.run(work, rng)
        said()
    except Fault as fault:
        return f"fault: {fault}"
    except BaseException:
        forget()
        return f"fault: {traceback.format_exc()}"
    return ended


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    """Run a campaign, print a line for each target, write its JSON; exit code 1 where a case ended in a fault."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--only", action="append", choices=sorted(BY_NAME))
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--keep", type=Path, help="leave the files of faults here")
    parser.add_argument("--out", type=Path, help="write the result as JSON")
    given = parser.parse_args()
    counts = dict.fromkeys(given.only, given.cases) if given.only else shares(given.cases)
    began = time.monotonic()
    with TemporaryDirectory(prefix="veclink-fuzz-") as folder:
        result = _result(run_all(counts, Path(folder), first=given.first, keep=given.keep), began)
    if given.out is not None:
        given.out.write_text(json.dumps(result, indent=1) + "\n")
    for name, each in result["targets"].items():
        print(f"{name:16} {each['cases']:7,} cases {each['seconds']:7.1f} s {each['peak_mb']:5} MB  {each['ended']}")
    print(f"{result['cases']:,} cases, {result['faults']:,} faults, {result['seconds']:,.0f} s")
    sys.exit(1 if result["faults"] else 0)


def _result(tallies: dict[str, Tally], began: float) -> dict[str, Any]:
    targets = {
        name: {
            "cases": tally.cases,
            "ended": dict(sorted(tally.ended.items())),
            "seconds": round(tally.seconds, 1),
            "slowest_seconds": round(tally.slowest, 2),
            "peak_mb": tally.peak // 1_000_000,
            "faults": tally.faults,
        }
        for name, tally in tallies.items()
    }
    return {
        "cases": sum(tally.cases for tally in tallies.values()),
        "faults": sum(tally.ended["fault"] for tally in tallies.values()),
        "seconds": round(time.monotonic() - began),
        "limits": {"memory_bytes": MEMORY, "seconds": SECONDS},
        "machine": {"python": platform.python_version(), "system": platform.system(), "cores": os.cpu_count()},
        "targets": targets,
    }


if __name__ == "__main__":
    main()
