"""How large the report of many links is, and how long a browser takes to open it.

    veclink bench report-speed [--links 50000 100000]

The links are the bundled sample's, taken over and over with their evidence; titles are made of its titles' words, so
that each is its own and as long as a real one. Opening is measured in headless chromium, from the start of the
navigation until the page says that charts and table are ready, and until the first rows can be read; the best and the
median of five. The reference in the same run is the report of the sample itself; how busy the machine was is noted.
Written to results/speed/report.json.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from playwright.sync_api import Browser, sync_playwright

from veclink import Collection, Links, link, open_collection, sample
from veclink.files.atomic import written_whole
from veclink.report import save_report
from veclink_bench.arguments import parser
from veclink_bench.places import results_folder

RESULTS = results_folder("speed") / "report.json"
OPENINGS = 5


def many(links: Links, a: Collection, b: Collection, count: int) -> tuple[Links, Collection, Collection]:
    """`count` links like the given ones, with as many below the threshold, between larger collections."""
    rng = np.random.default_rng(0)
    source = links.considered
    assert source is not None and a.payload is not None and b.payload is not None
    total = round(count * len(source) / len(links))
    times = -(-total // len(source))
    order = np.sort(np.tile(np.arange(len(source)), times))[:total]
    copy = np.concatenate([np.arange(times)] * len(source))[:total]

    def moved(rows: np.ndarray, size: int) -> np.ndarray:
        return np.where(rows >= 0, rows + copy * size, -1)

    evidence = {
        name: moved(values[order], len(a) if name.endswith("_a") else len(b))
        if name.endswith(("_a", "_b")) and not name.startswith("rank")
        else values[order]
        for name, values in source.evidence.items()
    }
    pairs = np.column_stack([moved(source.pairs[order, 0], len(a)), moved(source.pairs[order, 1], len(b))])
    summary = replace(source.summary, n_a=len(a) * times, n_b=len(b) * times, n_links=total)
    whole = Links(pairs, source.probability[order], summary, evidence, trace=links.trace)
    kept = replace(
        whole,
        pairs=whole.pairs[:count],
        probability=whole.probability[:count],
        evidence={name: values[:count] for name, values in whole.evidence.items()},
        summary=replace(summary, n_links=count),
        considered=whole,
    )
    return kept, _larger(a, times, rng), _larger(b, times, rng)


def _larger(collection: Collection, times: int, rng: np.random.Generator) -> Collection:
    assert collection.payload is not None
    titles = collection.payload.column("title").to_pylist()
    words = np.array(sorted({word for title in titles for word in title.split()}), object)
    lengths = [len(title.split()) for title in titles] * times
    drawn = words[rng.integers(0, len(words), sum(lengths))].tolist()
    ends = np.cumsum(lengths)
    made = [" ".join(drawn[end - length : end]) for end, length in zip(ends, lengths, strict=True)]
    vectors = np.tile(collection.vectors, (times, 1))
    return Collection.from_array(vectors, payload=pa.table({"title": made}), name=collection.name)


def opening(browser: Browser, path: Path) -> dict[str, float]:
    """Seconds from the start of the navigation until everything is ready."""
    taken = []
    for _ in range(OPENINGS):
        page = browser.new_page()
        began = time.perf_counter()
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready=yes]", state="attached")
        page.locator("#links tbody tr").first.wait_for()
        taken.append(time.perf_counter() - began)
        page.close()
    return {"best": round(min(taken), 2), "median": round(statistics.median(taken), 2)}


def main() -> None:
    """Measure, print and write."""
    arguments = parser(__doc__)
    arguments.add_argument("--links", type=int, nargs="+", default=[50_000, 100_000])
    options = arguments.parse_args()
    a, b = open_collection(sample.A), open_collection(sample.B)
    linked = link(a, b, seeds=sample.SEEDS, device="cpu")
    found = shutil.which(os.environ.get("CHROMIUM", "chromium"))
    results: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        browser = play.chromium.launch(executable_path=found, args=["--no-sandbox"])
        for count in (len(linked), *options.links):
            links, left, right = (linked, a, b) if count == len(linked) else many(linked, a, b, count)
            path = Path(folder) / f"{count}.html"
            began = time.perf_counter()
            save_report(path, links, left, right)
            results[f"{count} links"] = {
                "judged pairs": len(links.considered or links),
                "megabytes": round(path.stat().st_size / 1e6, 2),
                "seconds to write": round(time.perf_counter() - began, 1),
                "seconds to open": opening(browser, path),
                "processes that wanted a core": round(os.getloadavg()[0], 1),
            }
            print(f"{count:,} links: {results[f'{count} links']}")
        browser.close()
    with written_whole(RESULTS) as temporary:
        temporary.write_text(json.dumps(results, indent=2) + "\n")
