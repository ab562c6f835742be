"""Fill the tables and numbers of all pages from the committed results, and draw all figures again.

    veclink bench results [--data DIR] [--pages-only]

What a page may hold is told in `veclink_bench.pages`; `veclink bench check` says where a page differs.
"""

from __future__ import annotations

from veclink_bench.arguments import parser
from veclink_bench.experiments import EXPERIMENTS
from veclink_bench.experiments.output import finish
from veclink_bench.experiments.running import Store
from veclink_bench.experiments.setup import Setup
from veclink_bench.pages import filled, pages
from veclink_bench.places import data_folder, results_folder


def main() -> None:
    """Draw the figures, then fill every page."""
    arguments = parser(__doc__)
    arguments.add_argument("--data", default=None, help="a folder per corpus, for the figures")
    arguments.add_argument("--pages-only", action="store_true", help="draw no figures")
    options = arguments.parse_args()
    if not options.pages_only:
        _draw(options.data)
    for page in pages():
        text = page.read_text(encoding="utf-8")
        wanted = filled(text)
        if wanted != text:
            page.write_text(wanted, encoding="utf-8")
            print(f"filled {page.name}")


def _draw(data: str | None) -> None:
    folder = data_folder(data)
    for name in EXPERIMENTS:
        path = results_folder("experiments") / f"{name.replace('-', '_')}.json"
        if path.exists():
            answer = finish(Store(path, name, Setup(folder, full=True)), show=False)
            print(f"{name}: {answer['cells']} of {answer['of']} cells")
