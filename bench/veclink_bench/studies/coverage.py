"""How often the report's ranges hold the truth, and how wide they are: kept in results/experiments/coverage.json.

    veclink bench coverage

From the trials of results/experiments/span.json, intervals.json and probe.json; nothing is linked here. The numbers in
`report/estimates.py` were chosen on the first two, so those of probe.json ("further trials") are the check.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from veclink.confidence.intervals import ranges
from veclink.files.atomic import written_whole
from veclink.probing.forecast import of_the_whole, seconds_for_all
from veclink_bench.arguments import parser
from veclink_bench.places import results_folder
from veclink_bench.splits import split

RESULTS = results_folder("experiments")
OBJECTS = {"scifact": 5183, "nfcorpus": 3633, "papers": 5000, "reddit": 2019, "stackexchange": 2043, "movies": 6000}
WHAT = ("precision", "recall", "overlap")
PART = 1000  # rows that the trials of probe.json linked


class Linked(NamedTuple):
    """One trial: links, the share of them expected to be wrong, the estimated overlap, and what is true."""

    corpus: str
    shared: float
    links: int
    doubt: float
    overlap: float
    smaller: int
    true: dict[str, float]


def trials() -> Iterator[tuple[str, Linked]]:
    """Every trial that linked something, with where it is from."""
    for name, each in _read("span").items():
        if each.get("links") and each.get("estimated_overlap") and not name.startswith("nothing"):
            corpus = re.search(r"pair=(\w+)-", name)
            assert corpus is not None
            shared = _number(name, "overlap")
            smaller = len(split(OBJECTS[corpus[1]], shared, np.random.default_rng(0)).rows_a)
            doubt, true = 1 - each["estimated_precision"], {what: each[what] for what in WHAT}
            yield "chosen on", Linked(corpus[1], shared, each["links"], doubt, each["estimated_overlap"], smaller, true)
    for name, each in _read("intervals").items():
        if each["links"]:
            told, place = each["estimated"], (name.split()[0], _number(name, "overlap"), each["links"])
            yield "chosen on", Linked(*place, 1 - told["precision"], told["overlap"], each["smaller"], each["true"])
    for name, each in _read("probe").items():
        if name.startswith("trial") and each["linked"]["overlap"]:
            told = each["linked"]
            place = (name.split()[1], 0.3, told["n_links"])
            yield (
                "further trials",
                Linked(*place, 1 - told["precision"], told["overlap"], min(each["rows"]), each["true"]),
            )


def main() -> None:
    """Count, print and write."""
    parser(__doc__).parse_args()
    groups: dict[str, list[tuple[list[bool], list[float]]]] = defaultdict(list)
    for source, each in trials():
        found = ranges(each.links, each.doubt * each.links, each.overlap, each.smaller)
        intervals = [getattr(found, what) for what in WHAT]
        held = [one.low <= each.true[what] <= one.high for what, one in zip(WHAT, intervals, strict=True)]
        scale = dict.fromkeys(WHAT, 1.0) | {"overlap": each.overlap}
        wide = [(one.high - one.low) / scale[what] for what, one in zip(WHAT, intervals, strict=True)]
        part = f"{source}, {100 * each.shared:.0f} % shared"
        for group in (source, part, f"{part}, {each.corpus}"):
            groups[group].append((held, wide))
    results: dict[str, dict[str, Any]] = {
        group: {"trials": len(cells)}
        | {
            what: {
                "held": sum(held[i] for held, _ in cells),
                "mean width": round(float(np.mean([wide[i] for _, wide in cells])), 3),
            }
            for i, what in enumerate(WHAT)
        }
        for group, cells in sorted(groups.items())
    }
    results["forecast from a part"] = forecasts()
    for group, told in results.items():
        parts = (
            f"{what} {each['held']} (width {each['mean width']:.2f})" for what, each in told.items() if what != "trials"
        )
        print(f"{group}: held in, of {told['trials']}: {', '.join(parts)}")
    with written_whole(RESULTS / "coverage.json") as temporary:
        temporary.write_text(json.dumps(results, indent=1) + "\n")


def forecasts() -> dict[str, Any]:
    """How often what 1,000 rows near the seeds forecast holds what linking everything gives, time included.

    The width of the time's range is the factor from its low end to its high end.
    """
    held: dict[str, list[bool]] = defaultdict(list)
    wide: dict[str, list[float]] = defaultdict(list)
    for name, each in _read("probe").items():
        part, linked = (each.get(key) for key in ("part", "linked"))
        if not name.startswith("trial") or not part["overlap"] or not linked["overlap"]:
            continue
        found = of_the_whole(ranges(part["n_links"], (1 - part["precision"]) * part["n_links"], part["overlap"], PART))
        for what, interval in zip(WHAT, found, strict=False):
            held[what].append(interval.low <= each["true"][what] <= interval.high)
            wide[what].append(interval.high - interval.low)
        low, _, high = seconds_for_all(part["seconds"], each["rows"][0] / PART, "cpu")
        held["seconds"].append(low <= linked["seconds"] <= high)
        wide["seconds"].append(high / low)
    told = {what: {"held": sum(held[what]), "mean width": round(float(np.mean(wide[what])), 3)} for what in held}
    return {"trials": len(held["seconds"])} | told


def _read(name: str) -> dict[str, Any]:
    return json.loads((RESULTS / f"{name}.json").read_text())


def _number(name: str, key: str) -> float:
    found = re.search(rf"{key}=([\d.]+)", name)
    assert found is not None
    return float(found[1])
