"""What the linker hands on about itself is enough to explain every probability."""

from __future__ import annotations

import numpy as np

import span_papers


def test_the_model_and_the_evidence_give_each_probability_again() -> None:
    links = span_papers.linked_cut().considered
    assert links is not None
    column, model = links.evidence, links.trace["model"]
    margins = [
        column["score"] - np.where(column[f"rival_{side}"] >= 0, column[f"rival_{side}_score"], -1) for side in "ab"
    ]
    known = {**column, "narrow_margin": np.minimum(*margins), "wide_margin": np.maximum(*margins)}
    features = np.column_stack([known[name] for name in model["features"]])
    odds = model["base"] + (features - model["centre"]) / model["scale"] @ np.array(model["weights"])
    found = ~column["given"]
    assert found.sum() > 120
    assert np.abs(1 / (1 + np.exp(-odds)) - links.probability)[found].max() < 0.03
