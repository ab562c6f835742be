"""The figures of `veclink bench living`, out of its measurements."""

from __future__ import annotations

from typing import Any

import numpy as np


def summary(kept: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """The figures that matter, of the cases that no constant was chosen on: those whose names begin so."""
    linked_again = kept.get("again", {})
    pairs = [
        (cell, linked_again[name])
        for name, cell in kept.get("batch", {}).items()
        if name.startswith(names) and name in linked_again
    ]
    told: dict[str, Any] = {}
    if pairs:
        behind = [other["f1"] - cell["f1"] for cell, other in pairs]
        error = [100 * (cell["single_estimated"] - cell["single_right"]) for cell, _ in pairs]
        unlike = [100 * (cell["unlike_estimated"] - cell["unlike_right"]) for cell, _ in pairs]
        told["batch"] = {
            "cases": len(pairs),
            "mean_behind": float(np.mean(behind)),
            "worst_behind": float(np.max(behind)),
            "mean_single_error": float(np.mean(error)),
            "mean_absolute_single_error": float(np.mean(np.abs(error))),
            "worst_single_error": float(max(error, key=abs)),
            "mean_unlike_error": float(np.mean(unlike)),
        }
    at_end = kept.get("once", {})
    by_day = [(cell, at_end[name]) for name, cell in kept.get("days", {}).items() if name in at_end]
    if by_day:
        worst = max(other["f1"] - cell["f1"] for cell, other in by_day)
        told["days"] = {"cases": len(by_day), "worst_behind": worst}
    for cell in kept.get("cost", {}).values():
        told["cost"] = {"products": cell["products"]}
    return told
