"""The pictures of docs/merging.md and docs/clustering.md, drawn from the committed results into results/*.svg.

pip install 'veclink[docs]'
python experiments/uses_pictures.py
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("agg")
import matplotlib.pyplot as plt

RESULTS = Path(__file__).parent / "results"
STYLES = {
    "ceiling b": ("0.35", ":", "all in one model"),
    "truth blend": ("#1b7f5c", "--", "true links, blend"),
    "links blend": ("#1b7f5c", "-", "links, blend"),
    "links la2m": ("#4a6fa5", "-", "links, LA2M"),
    "seeds blend": ("#c8442e", "-", "seeds only"),
    "union": ("#8a6fc0", "-", "union"),
    "random blend": ("0.6", "-", "random pairs"),
}


def means(trials: dict[str, Any]) -> dict[tuple[str, float, str], dict[str, float]]:
    """Mean measures by (corpus and models, overlap, system)."""
    gathered: dict[tuple[str, float, str], list[dict[str, float]]] = defaultdict(list)
    for name, trial in trials.items():
        *pair, overlap, _ = name.split("-")
        if overlap == "alone":
            continue
        for system, values in trial["systems"].items():
            gathered["-".join(pair), float(overlap), system].append(values)
    averages = {}
    for key, values in gathered.items():
        common = set.intersection(*map(set, values))
        averages[key] = {measure: float(np.mean([each[measure] for each in values])) for measure in common}
    return averages


def merging(trials: dict[str, Any]) -> plt.Figure:
    """Recall and NDCG at 100 against the overlap."""
    found = means(trials)
    pairs = sorted({pair for pair, _, _ in found}, key=lambda pair: (not pair.startswith("scifact"), pair))
    figure, axes = plt.subplots(
        2, len(pairs), figsize=(3.4 * len(pairs), 5.4), squeeze=False, sharex=True, sharey="row"
    )
    for column, pair in enumerate(pairs):
        for row, (measure, label) in enumerate((("recall", "Recall@100"), ("ndcg", "NDCG@100"))):
            here = axes[row, column]
            for system, (colour, line, name) in STYLES.items():
                points = sorted((o, values[measure]) for (p, o, s), values in found.items() if (p, s) == (pair, system))
                if points:
                    x, y = np.array(points).T
                    here.plot(100 * x, y, line, color=colour, label=name, marker="o" if line == "-" else None, ms=3)
            here.grid(alpha=0.25)
            if row == 0:
                corpus, a, b = pair.split("-")
                here.set_title(f"{corpus}, {a} → {b}", fontsize=10)
            else:
                here.set_xlabel("overlap, % of all documents")
            if column == 0:
                here.set_ylabel(label)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="lower center", ncols=4, frameon=False, fontsize=9)
    figure.tight_layout(rect=(0, 0.09, 1, 1))
    return figure


def clustering(trials: dict[str, Any]) -> plt.Figure:
    """V-measure and OAR at an overlap of 30 %."""
    found = means(trials)
    pairs = sorted({pair for pair, overlap, _ in found if overlap == 0.3})
    systems = (("links", "#1b7f5c"), ("truth", "#9bd0bb"), ("concat", "#8a6fc0"), ("seeds", "#c8442e"))
    figure, axes = plt.subplots(2, 1, figsize=(1.5 * len(pairs) + 1, 5.6), sharex=True)
    for here, (measure, label) in zip(axes, (("v", "V-measure"), ("oar", "OAR, %")), strict=True):
        for shift, (system, colour) in enumerate(systems):
            heights = [found[pair, 0.3, system][measure] for pair in pairs]
            bars = here.bar(np.arange(len(pairs)) + 0.2 * (shift - 1.5), heights, 0.19, color=colour, label=system)
            here.bar_label(bars, fmt="%.0f", fontsize=7)
        if measure == "v":
            for place, pair in enumerate(pairs):
                corpus, *models = pair.split("-")
                starts = tuple(f"{corpus}-{model}-alone" for model in models)
                alone = [trial["systems"]["alone"]["v"] for name, trial in trials.items() if name.startswith(starts)]
                here.plot([place - 0.45, place + 0.45], [np.mean(alone)] * 2, color="0.2", ls="--", lw=1)
        here.set_ylabel(label)
    axes[0].set_ylim(bottom=30)
    axes[1].set_xticks(range(len(pairs)), [pair.replace("-", "\n", 1).replace("-", "–") for pair in pairs], fontsize=8)
    axes[0].legend(frameon=False, ncols=4, fontsize=8, loc="upper left", title="dashed: mean of the two models alone")
    axes[0].set_ylim(top=axes[0].get_ylim()[1] * 1.15)
    figure.tight_layout()
    return figure


def main() -> None:
    """Draw what there are results for."""
    matplotlib.rcParams["svg.hashsalt"] = "veclink"  # the same results give the same file
    for name, draw in (("merging_maps", merging), ("clustering_links", clustering)):
        figure = draw(json.loads((RESULTS / f"{name}.json").read_text()))
        figure.savefig(RESULTS / f"{name}.svg", metadata={"Date": None})
        plt.close(figure)


if __name__ == "__main__":
    main()
