"""All tests in one run, and what it found: `whole_run.json` beside this, which `make test` prints.

python tests/whole_run.py          print the last run
python tests/whole_run.py --run    run all tests, and keep what they found
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from xml.etree import ElementTree

HERE = Path(__file__).parent
KEPT = HERE / "whole_run.json"
PYTEST = ("-m", "pytest", "-q", "--numprocesses", "2", "--dist", "loadfile", "--no-loadscope-reorder")


def main() -> int:
    """Print the last run, or make one; the exit code of the tests."""
    if "--run" not in sys.argv[1:]:
        print(in_words(json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}))
        return 0
    began = time.monotonic()
    with TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        code = subprocess.call([sys.executable, *PYTEST, f"--junitxml={report}"], cwd=HERE.parent)
        suite = next(ElementTree.parse(report).getroot().iter("testsuite"))
    counts = {name: int(suite.get(name, 0)) for name in ("tests", "failures", "errors", "skipped")}
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=HERE, capture_output=True, text=True).stdout
    kept = {"commit": commit.strip(), **counts, "minutes": round((time.monotonic() - began) / 60, 1)}
    KEPT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    print(in_words(kept))
    return code


def in_words(kept: dict[str, Any]) -> str:
    """One line on a run."""
    if not kept:
        return "make test-all: no run is kept yet."
    told = f"{kept['tests']:,} tests at {kept['commit']} in {kept['minutes']} minutes"
    return f"make test-all, last run: {told}, {kept['failures'] + kept['errors']} failed."


if __name__ == "__main__":
    sys.exit(main())
