"""Put the tables of the measured experiments into RESULTS.md, between its marks, and draw all figures again.

    veclink bench results [--data DIR]

A mark is `<!-- table NAME N -->`: table N (from 0) of results/experiments/NAME.json goes between it
and `<!-- end -->`; NAME-quick is the quick run's.
"""

from __future__ import annotations

import re

from veclink_bench.arguments import parser
from veclink_bench.experiments import EXPERIMENTS, load
from veclink_bench.experiments.output import finish
from veclink_bench.experiments.running import Store
from veclink_bench.experiments.setup import Setup
from veclink_bench.experiments.trials import ALL_METHODS
from veclink_bench.places import PAGE, results_folder

MARK = re.compile(r"<!-- table ([\w-]+) (\d+) -->\n.*?<!-- end -->", re.DOTALL)


def main() -> None:
    """Fill RESULTS.md."""
    arguments = parser(__doc__, data=True)
    data = arguments.parse_args().data
    tables: dict[str, list[str]] = {}
    for name, ending in ((name, ending) for name in EXPERIMENTS for ending in ("", "-quick")):
        path = results_folder("experiments") / f"{name}{ending}.json"
        if not path.exists():
            continue
        # A quick main run leaves the slow methods out, unless they are asked for.
        methods = ALL_METHODS if name == "main" else ()
        store = Store(path, name, Setup(data, full=not ending, methods=methods))
        answer = finish(store, show=False)
        print(f"{name}{ending}: {answer['cells']} of {answer['of']} cells")
        tables[name + ending] = [table.markdown() for table in load(name).tables(store.cells())]

    def filled(mark: re.Match[str]) -> str:
        name, number = mark[1], int(mark[2])
        found = tables.get(name, [])
        body = f"**{found[number].removeprefix('### ')}" if number < len(found) else "Not measured.\n"
        body = body.replace("\n", "**\n", 1) if number < len(found) else body
        return f"<!-- table {name} {number} -->\n{body}<!-- end -->"

    PAGE.write_text(MARK.sub(filled, PAGE.read_text()))
