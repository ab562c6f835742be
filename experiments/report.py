"""Put the tables of the measured experiments into RESULTS.md, between its marks, and draw all figures again.

    python experiments/report.py [--data DIR]

A mark is `<!-- table NAME N -->`: table N (from 0) of results/NAME.json goes between it and `<!-- end -->`.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from veclink.experiments import EXPERIMENTS, load
from veclink.experiments.output import finish
from veclink.experiments.running import Store
from veclink.experiments.setup import Setup

HERE = Path(__file__).parent
MARK = re.compile(r"<!-- table (\w+) (\d+) -->\n.*?<!-- end -->", re.DOTALL)


def main() -> None:
    """Fill RESULTS.md."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    setup = Setup(parser.parse_args().data, full=True)
    tables: dict[str, list[str]] = {}
    for name in EXPERIMENTS:
        path = HERE / "results" / f"{name}.json"
        if not path.exists():
            continue
        store = Store(path, name, setup)
        answer = finish(store, show=False)
        print(f"{name}: {answer['cells']} of {answer['of']} cells")
        tables[name] = [table.markdown() for table in load(name).tables(list(store.measured.values()))]
    report = HERE.parent / "RESULTS.md"

    def filled(mark: re.Match[str]) -> str:
        name, number = mark[1], int(mark[2])
        body = tables[name][number].split("\n", 2)[2] if name in tables else "Not measured yet.\n"
        return f"<!-- table {name} {number} -->\n{body}<!-- end -->"

    report.write_text(MARK.sub(filled, report.read_text()))


if __name__ == "__main__":
    main()
