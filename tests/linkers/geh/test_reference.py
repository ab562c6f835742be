"""GEH finds, with the same draws, the links, votes and confidence that the short GEH of the laboratory finds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from recorded_runs import changed, cut
from veclink.data.collection import Collection
from veclink.geometry.clouds import prepare
from veclink.linkers.anchors import anchors_from_pairs
from veclink.linkers.geh.linker import geh
from veclink.linkers.options import GehOptions, differing
from veclink_bench import geh_reference

STRICT = differing(GehOptions.paper())
# Rows of A, of B, shared ones; seeds; what is done to the rows; options.
CUTS: dict[str, tuple[tuple[int, int, int], int, str, dict[str, Any]]] = {
    "even": ((200, 200, 120), 15, "", {}),
    "unequal": ((90, 260, 70), 12, "", {"k": 20}),
    "few rows, all neighbours": ((60, 60, 40), 8, "", {"k": 50}),
    "exact copies": ((120, 120, 80), 15, "exact copies", {}),
    "local": ((200, 200, 120), 15, "", {"path": "local"}),
    "local, small clusters": ((200, 220, 130), 12, "", {"path": "local", "links_per_view": 30, "neighbours": 25}),
    "strict": ((200, 180, 120), 15, "", STRICT),
    "strict, but sides take turns": ((150, 180, 110), 15, "", STRICT | {"view_side": "turns"}),
    "strict, local": ((200, 220, 130), 12, "", STRICT | {"path": "local", "neighbours": 25}),
    "strict, local, small clusters": (
        (200, 220, 130), 12, "", STRICT | {"path": "local", "links_per_view": 30, "neighbours": 25}
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CUTS)
def test_it_finds_what_the_reference_finds(name: str) -> None:
    size, n_seeds, change, told = CUTS[name]
    made = changed(cut(*size, len(name), (384, 768)), change)
    cloud_a, cloud_b = (prepare(Collection.from_array(side), centre=False) for side in (made.a, made.b))
    seeds = made.truth[:n_seeds]
    options = GehOptions(**{"k": 10, "max_iterations": 14, **told})
    found = geh(cloud_a, cloud_b, anchors_from_pairs(cloud_a, cloud_b, seeds), options, random_state=n_seeds)
    expected = geh_reference.geh(
        cloud_a.dense(), cloud_b.dense(), seeds, k=options.k, path=options.path, most=options.max_iterations,
        k_nn=options.neighbours, d_max=options.links_per_view, side={"a": 0}.get(options.view_side),
        seeded=bool(options.seeds_in_views), sample=options.width_rows, random_state=n_seeds,
    )  # fmt: skip
    assert len(found.history) == expected.iterations > 5
    assert np.array_equal(found.pairs[n_seeds:], expected.L[n_seeds:]), "links, the most confident first"
    assert np.array_equal(found.confidence, expected.theta)
