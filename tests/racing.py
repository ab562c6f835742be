"""One of two processes that write to one place at once; `Racers` starts both and tells them what to do."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from veclink import Linker, Links, merge
from veclink.errors import VeclinkError
from veclink.uses.appending import append

SAYS = "racer: "
"""Before each answer, as engines print things of their own."""


class Racers:
    """Two processes that have read the same folder: one has the new rows of A, the other those of B."""

    def __init__(self, folder: Path) -> None:
        self._running = [
            subprocess.Popen(
                [sys.executable, __file__, str(folder), side],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for side in "ab"
        ]

    def one_by_one(self, command: str, place: str) -> list[str]:
        """What each of them answers, the second once the first is done."""
        return [self._answer(racer) for racer in self._running if self._tell(racer, command, place)]

    def at_once(self, command: str, place: str) -> list[str]:
        """What both answer to the same command at the same time."""
        for racer in self._running:
            self._tell(racer, command, place)
        return [self._answer(racer) for racer in self._running]

    def end(self) -> None:
        for racer in self._running:
            racer.communicate()

    @staticmethod
    def _tell(racer: subprocess.Popen[str], command: str, place: str) -> bool:
        assert racer.stdin is not None
        racer.stdin.write(json.dumps([command, place]) + "\n")
        racer.stdin.flush()
        return True

    @staticmethod
    def _answer(racer: subprocess.Popen[str]) -> str:
        for line in racer.stdout or ():
            if line.startswith(SAYS):
                return line.removeprefix(SAYS).strip()
        raise AssertionError("a racer ended")


def race(folder: Path, side: str) -> None:
    """Do what is told, a line at a time, and say how it went."""
    linker = Linker.load(folder / "linker")
    links = [Links.load(folder / "links.parquet"), linker.links][side == "b"]
    appended: Any = None
    for line in sys.stdin:
        command, place = json.loads(line)
        try:
            if command == "read":
                appended = append(folder / f"new_{side}.parquet", place, linker, side=side)
            elif command == "append":
                appended.write()
            elif command == "merge":
                merge(folder / "old_a.parquet", folder / "old_b.parquet", links, to=place, map="procrustes")
            else:
                links.save(place)
            said = "done"
        except VeclinkError as error:
            said = str(error)
        print(SAYS + said, flush=True)


if __name__ == "__main__":
    race(Path(sys.argv[1]), sys.argv[2])
