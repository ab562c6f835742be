"""Put the tables of the measured experiments into RESULTS.md, between its marks, and draw all figures again.

    python experiments/report.py [--data DIR]

A mark is `<!-- table NAME N -->`: table N (from 0) of results/NAME.json goes between it and `<!-- end -->`; NAME-quick
is the quick run's.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from veclink_bench.experiments import EXPERIMENTS, load
from veclink_bench.experiments.output import finish
from veclink_bench.experiments.running import Store
from veclink_bench.experiments.setup import Setup
from veclink_bench.experiments.trials import ALL_METHODS

HERE = Path(__file__).parent
MARK = re.compile(r"<!-- table ([\w-]+) (\d+) -->\n.*?<!-- end -->", re.DOTALL)


def main() -> None:
    """Fill RESULTS.md."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    data = parser.parse_args().data
    tables: dict[str, list[str]] = {}
    for name, ending in ((name, ending) for name in EXPERIMENTS for ending in ("", "-quick")):
        path = HERE / "results" / f"{name}{ending}.json"
        if not path.exists():
            continue
        # A quick main run leaves the slow methods out, unless they are asked for.
        methods = ALL_METHODS if name == "main" else ()
        store = Store(path, name, Setup(data, full=not ending, methods=methods))
        answer = finish(store, show=False)
        print(f"{name}{ending}: {answer['cells']} of {answer['of']} cells")
        tables[name + ending] = [table.markdown() for table in load(name).tables(store.cells())]
    report = HERE.parent / "RESULTS.md"

    def filled(mark: re.Match[str]) -> str:
        name, number = mark[1], int(mark[2])
        found = tables.get(name, [])
        body = f"**{found[number].removeprefix('### ')}" if number < len(found) else "Not measured.\n"
        body = body.replace("\n", "**\n", 1) if number < len(found) else body
        return f"<!-- table {name} {number} -->\n{body}<!-- end -->"

    report.write_text(MARK.sub(filled, report.read_text()))


if __name__ == "__main__":
    main()
