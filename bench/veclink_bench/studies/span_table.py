"""The table of the span linker's figures, from the trials in results/experiments/span*.json, merged into span.json.

veclink bench span-table
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from veclink.files.atomic import written_whole
from veclink_bench.arguments import parser
from veclink_bench.places import results_folder

RESULTS = results_folder("experiments")
Trial = dict[str, Any]
FEWER = {
    "seeds8": "8 seeds, α = 0.3",
    "seeds5": "5 seeds, α = 0.3",
    "none": "no seeds, α = 0.3",
    "none15": "no seeds, α = 0.15",
}


def merged() -> dict[str, Trial]:
    """All trials, those of parts included; the parts are removed once span.json holds them."""
    parts = [RESULTS / "span.json", *sorted(RESULTS.glob("span.*.json"))]
    trials: dict[str, Trial] = {}
    for part in parts:
        trials |= json.loads(part.read_text()) if part.exists() else {}
    with written_whole(RESULTS / "span.json") as temporary:
        temporary.write_text(json.dumps(trials, indent=1))
    for part in parts[1:]:
        part.unlink(missing_ok=True)
    return trials


def rows(trials: dict[str, Trial]) -> Iterator[tuple[str, str]]:
    """(figure, value) for everything that was measured."""
    cells = [({"name": key.split()[0], **settings_of(key)}, trial) for key, trial in trials.items()]

    def of(name: str, **wanted: str) -> list[tuple[dict[str, str], Trial]]:
        return [(s, t) for s, t in cells if s["name"] == name and all(s.get(k) == v for k, v in wanted.items())]

    for name, corpora in (("main", "scifact and nfcorpus"), ("others", "papers, reddit and stackexchange")):
        for overlap in ("0.5", "0.3", "0.15", "0.05"):
            found = [trial for _, trial in of(name, overlap=overlap)]
            if not found:
                continue
            f1 = np.array([100 * trial["f1"] for trial in found])
            error = [100 * abs(trial["estimated_precision"] - trial["precision"]) for trial in found if trial["links"]]
            sure = [100 * trial["precision_at_95"] for trial in found if trial["precision_at_95"] is not None]
            yield f"{corpora}, α = {overlap}, {len(f1)} trials: mean F1 (worst)", f"{f1.mean():.1f} ({f1.min():.1f})"
            yield "… mean error of the estimated precision", f"{np.mean(error):.1f}"
            yield "… true precision at 0.95, worst trial", f"{min(sure):.1f}" if sure else "–"
    with_15 = {(s["pair"], s["overlap"], s["state"]): t["f1"] for s, t in of("main")}
    with_30 = {(s["pair"], s["overlap"], s["state"]): t["f1"] for s, t in of("clean")}
    for name, what in FEWER.items():
        gaps = _gaps(of(name), with_15)
        if len(gaps):
            yield f"{what}: F1 less that of 15 seeds, mean; within 2 points", _near(gaps)
    gaps = _gaps(of("wrong"), with_30)
    if len(gaps):
        named = sum(trial["wrong_named"] for _, trial in of("wrong"))
        not_wrong = sum(trial["right_named"] for _, trial in of("wrong"))
        yield "30 seeds, 15 of them wrong: F1 less that of 30 right ones; within 2 points", _near(gaps)
        yield "… wrong seeds named; right ones named", f"{named} of {15 * len(of('wrong'))}; {not_wrong}"
    for seeds in (30, 15):
        f1 = np.array([100 * trial["f1"] for _, trial in of(f"movies{seeds}")])
        if len(f1):
            yield f"movies, {seeds} seeds: F1 of each trial", ", ".join(f"{value:.1f}" for value in f1)
    for outside in ("nfcorpus", "reddit", "papers"):
        gaps = _gaps(of("outside", outside=outside), with_15)
        if len(gaps):
            yield f"scifact, 30 anchors from {outside}: F1 less that of 15 seeds; within 2 points", _near(gaps)
    found = [trial for _, trial in of("nothing")]
    if found:
        none = sum(trial["verdict"] == "not linkable" and trial["links"] == 0 for trial in found)
        yield "nothing to link: not linkable, no links", f"{none} of {len(found)}"


def settings_of(key: str) -> dict[str, str]:
    """The settings in a trial's key, "name pair=… overlap=… …"; a value may hold spaces."""
    parts = [part.rsplit(" ", 1) for part in key.split("=")]
    names = [part[-1] for part in parts[:-1]]
    values = [part[0] for part in parts[1:-1]] + [" ".join(parts[-1])]
    return dict(zip(names, values, strict=True))


def _gaps(found: list[tuple[dict[str, str], Trial]], base: dict[tuple[str, str, str], float]) -> np.ndarray:
    """F1 in points above that of the same split in `base`."""
    places = [((s["pair"], s["overlap"], s["state"]), t["f1"]) for s, t in found]
    return np.array([100 * (f1 - base[place]) for place, f1 in places if place in base])


def _near(gaps: np.ndarray) -> str:
    return f"{gaps.mean():+.1f}; {int((gaps >= -2).sum())} of {len(gaps)}"


def main() -> None:
    """Print the table as Markdown."""
    parser(__doc__).parse_args()
    print("| figure | measured |\n|---|---|")
    for figure, value in rows(merged()):
        print(f"| {figure} | {value} |")
