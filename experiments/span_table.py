"""The table of the span linker's figures, from the trials in results/span*.json; merges the parts into span.json.

    python experiments/span_table.py
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from veclink.atomic import written_whole

RESULTS = Path(__file__).parent / "results"
Trial = dict[str, Any]


def merged() -> dict[str, Trial]:
    """All trials, those of parts included; the parts are removed once span.json holds them."""
    parts = [RESULTS / "span.json", *sorted(RESULTS.glob("span.[0-9].json"))]
    trials: dict[str, Trial] = {}
    for part in parts:
        trials |= json.loads(part.read_text()) if part.exists() else {}
    with written_whole(RESULTS / "span.json") as temporary:
        temporary.write_text(json.dumps(trials, indent=1))
    for part in parts[1:]:
        part.unlink()
    return trials


def rows(trials: dict[str, Trial]) -> list[tuple[str, str]]:
    """(figure, value) for everything that was measured."""

    def of(name: str, **settings: Any) -> dict[str, Trial]:
        wanted = [f"{key}={value}" for key, value in settings.items()]
        return {
            key: trial
            for key, trial in trials.items()
            if key.split()[0] == name and all(each in key.split() for each in wanted)
        }

    def each(found: dict[str, Trial], value: Callable[[Trial], Any]) -> list[float]:
        return [100 * value(trial) for trial in found.values() if value(trial) is not None]

    table = []
    for overlap in (0.5, 0.3, 0.15, 0.05):
        found = of("main", overlap=overlap)
        if found:
            f1 = each(found, lambda t: t["f1"])
            error = each(found, lambda t: abs(t["estimated_precision"] - t["precision"]))
            sure = each(found, lambda t: t["precision_at_95"])
            table.append((f"α = {overlap}, 15 seeds: mean F1 (worst), {len(f1)} trials", f"{np.mean(f1):.1f} ({min(f1):.1f})"))
            table.append((f"α = {overlap}: mean error of the estimated precision", f"{np.mean(error):.1f}"))
            table.append((f"α = {overlap}: true precision at 0.95, worst trial", f"{min(sure):.1f}" if sure else "–"))
    reference = {key.split(" ", 1)[1].split(" seeds=")[0] + key.rsplit(" state=", 1)[1]: t for key, t in of("main").items()}
    for name, what in (("seeds8", "8 seeds"), ("seeds5", "5 seeds"), ("none", "no seeds, α = 0.3"), ("none15", "no seeds, α = 0.15")):
        found = of(name)
        gaps = []
        for key, trial in found.items():
            base = reference.get(key.split(" ", 1)[1].split(" seeds=")[0] + key.rsplit(" state=", 1)[1].split()[0])
            if base is not None:
                gaps.append(100 * (trial["f1"] - base["f1"]))
        if gaps:
            near = np.mean(np.array(gaps) >= -2)
            table.append((f"{what}: F1 less that of 15 seeds, mean; within 2 points", f"{np.mean(gaps):+.1f}; {near:.0%} of {len(gaps)}"))
    clean = {key.split(" ", 1)[1]: trial for key, trial in of("clean").items()}
    gaps, named, missed = [], 0, 0
    for key, trial in of("wrong").items():
        base = clean.get(key.split(" ", 1)[1].rsplit(" wrong=", 1)[0])
        if base is not None:
            gaps.append(100 * (trial["f1"] - base["f1"]))
            named, missed = named + trial["wrong_named"], missed + trial["right_named"]
    if gaps:
        table.append(("30 seeds, 15 wrong: within 2 points of clean", f"{np.mean(np.array(gaps) >= -2):.0%} of {len(gaps)}"))
        table.append(("… wrong seeds named; right ones named", f"{named} of {15 * len(gaps)}; {missed}"))
    for seeds in (30, 15):
        f1 = each(of(f"movies{seeds}"), lambda t: t["f1"])
        if f1:
            table.append((f"movies, {seeds} seeds: F1 of each trial", ", ".join(f"{value:.1f}" for value in f1)))
    for outside in ("nfcorpus", "reddit", "papers"):
        found = of("outside", outside=outside)
        gaps = []
        for key, trial in found.items():
            body = key.split(" ", 1)[1]
            base = reference.get(body.split(" seeds=")[0] + body.split(" state=")[1].split()[0])
            if base is not None:
                gaps.append(100 * (trial["f1"] - base["f1"]))
        if gaps:
            table.append((f"scifact, 30 anchors from {outside}: F1 less that of 15 seeds, mean (worst)", f"{np.mean(gaps):+.1f} ({min(gaps):+.1f}), {len(gaps)} trials"))
    found = of("nothing")
    if found:
        none = sum(trial["verdict"] == "not linkable" and trial["links"] == 0 for trial in found.values())
        table.append(("nothing to link: not linkable, no links", f"{none} of {len(found)}"))
    return table


def main() -> None:
    print("| figure | measured |\n|---|---|")
    for figure, value in rows(merged()):
        print(f"| {figure} | {value} |")


if __name__ == "__main__":
    main()
