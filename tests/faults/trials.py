"""One trial: a command is killed, what it leaves is looked at, and the same command is run again."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from faults import journal
from faults.cases import Case, all_cases
from faults.points import arm
from own_process import alone
from store_kinds import POSTGRES
from veclink.errors import VeclinkError

LONGEST = 120.0
"""Seconds after which a command is said to hang."""
SERVER = "VECLINK_TEST_POSTGRES"
NOTHING, OLDER, NEW, PART, REFUSED = "nothing", "older", "new", "part", "refused"


@dataclass(frozen=True)
class Expected:
    """What a case holds before and after, and how long it takes when nothing disturbs it."""

    older: str
    new: str
    points: int
    seconds: float


@dataclass(frozen=True)
class Outcome:
    """What came of a trial.

    found: what was there after the kill: nothing, older, new, refused, part, or what was wrong. again: whether the same
    command then ended well, with what an undisturbed run writes. left: files of ours that are still there after it.
    """

    case: str
    point: int | None
    seconds: float | None
    killed: bool
    found: str
    again: bool
    left: list[str]
    said: str = ""

    @property
    def good(self) -> bool:
        """Whether nothing was lost, nothing mixed, and the run after it is like any other."""
        return self.found in (NOTHING, OLDER, NEW, PART, REFUSED) and self.again and not self.left


class Room:
    """Where trials are made: a folder with the papers, and a folder for each trial."""

    def __init__(self, root: Path) -> None:
        self.root, self.papers = root, root / "papers"
        self._number = 0
        self._before: dict[str, Path] = {}

    def undisturbed(self, case: Case) -> Expected:
        """Run a case to its end."""
        folder = self.prepared(case)
        older = self.look(case, folder)
        began = time.monotonic()
        code, said = self.run(case, folder)
        seconds = time.monotonic() - began
        new = self.look(case, folder)
        wrong = ("refused", "broken")
        if code or new == older or new.startswith((NOTHING, *wrong)) or older.startswith(wrong):
            raise AssertionError(f"{case.name} does not even work undisturbed: {code}, {older}, {new}, {said}")
        points = int((self.root / "points").read_text())
        self.drop(folder)
        return Expected(older, new, points, seconds)

    def prepared(self, case: Case) -> Path:
        """A new folder with what is there before the command."""
        self._number += 1
        folder = self.root / f"trial-{os.getpid()}-{self._number}"
        if case.older is None:
            folder.mkdir()
        elif not case.in_files or case.name not in self._before:
            folder.mkdir()
            code, said = alone(_make_older, case.name, self.papers, folder)
            assert not code, said
            if case.in_files:
                kept = self.root / f"before-{self._number}"
                shutil.copytree(folder, kept)
                self._before[case.name] = kept
        else:
            shutil.copytree(self._before[case.name], folder)
        return folder

    def run(self, case: Case, folder: Path, *, point: int = 0, kill_after: float | None = None) -> tuple[int, str]:
        """The command; `point`: where it is killed, or after how many seconds it is."""
        os.environ["VECLINK_SCRATCH"] = str(folder.with_name(f"scratch-{folder.name}"))
        after = LONGEST if kill_after is None else kill_after
        return alone(_run, case.name, self.papers, folder, point, self.root / "points", kill_after=after)

    def look(self, case: Case, folder: Path) -> str:
        """What is there now."""
        os.environ["VECLINK_SCRATCH"] = str(self.root / "scratch-look")
        code, said = alone(_look, case.name, folder, kill_after=LONGEST)
        if code:
            return f"broken: {said[-2000:] or code}"
        return str(json.loads(said.splitlines()[-1])["found"])

    def trial(self, case: Case, expected: Expected, *, point: int = 0, seconds: float | None = None) -> Outcome:
        """Kill a case at a point, or after some seconds; look; run it again; look."""
        folder = self.prepared(case)
        code, said = self.run(case, folder, point=point, kill_after=seconds)
        killed = code == -signal.SIGKILL
        if not killed and code:
            said = f"it ended with {code}: {said}"
        found = _judged(self.look(case, folder), expected, case)
        code, again = self.run(case, folder)
        after = self.look(case, folder)
        equal = after == expected.new and (code == 0 or "is there already" in again)  # killed after its work was done
        left = left_over(folder)
        good = equal and found in (NOTHING, OLDER, NEW, PART, REFUSED)
        told = "" if good else f"{said[-1500:]}\n--- again: {code} {after}\n{again[-1500:]}"
        if good:
            self.drop(folder)
        return Outcome(case.name, point or None, seconds, killed, found, equal, left, told)

    def drop(self, folder: Path) -> None:
        """Remove the folder of a trial, and its scratch folder."""
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(folder.with_name(f"scratch-{folder.name}"), ignore_errors=True)


def left_over(folder: Path) -> list[str]:
    """Files of its own that veclink left in a folder, but for empty ones that were killed before they were named."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock")
    hidden = (path for path in files if path.stat().st_size or path.name.count("-") > 1)
    ours = (path.relative_to(folder) for path in hidden)
    return sorted(str(path) for path in ours if any(part.startswith(".veclink-") for part in path.parts))


def _judged(found: str, expected: Expected, case: Case) -> str:
    known = {expected.new: NEW, expected.older: OLDER}
    if found in known and not (found == NOTHING and case.older is not None):
        return NOTHING if found == NOTHING else known[found]
    if case.steps and found in (NOTHING, "a part of the answers"):
        return PART
    if found.startswith("0 links") and expected.older == NOTHING:
        return NOTHING  # the table was made, and nothing written to it
    if found.startswith("refused: ") and "were not written together" in found:
        return REFUSED
    if "was left half-written" in found and expected.older == NOTHING:
        return NOTHING
    return found


def _make_older(name: str, papers: Path, folder: Path) -> None:
    _know_server()
    case = all_cases()[name]
    assert case.older is not None
    case.older(papers, folder)


def _run(name: str, papers: Path, folder: Path, point: int, counted: Path) -> None:
    _know_server()
    words = [str(each) for each in all_cases()[name].words(papers, folder)]
    seen = arm(point)
    try:
        if words[0] == "answer":
            journal.answer_all(folder)
        else:
            from veclink.cli.app import main

            sys.argv = ["veclink", *words]
            main()
    finally:
        count = seen()
        counted.write_text(str(count))


def _look(name: str, folder: Path) -> None:
    _know_server()
    case = all_cases()[name]
    try:
        found = case.look(folder)
    except VeclinkError as error:
        found = NOTHING if "does not exist" in str(error) else f"refused: {error}"
    print(json.dumps({"found": found}), flush=True)
    with suppress(Exception):
        sys.stdout.flush()
    os._exit(0)  # some engines take a second to end


def _know_server() -> None:
    POSTGRES["url"] = os.environ.get(SERVER, "")
