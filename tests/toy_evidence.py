"""Two kinds of evidence that the registry does not have: one of scores, one of neighbourhoods."""

from __future__ import annotations

import numpy as np

from veclink.confidence.evidence import Evidence

OF_SCORES = Evidence(
    name="toy_of_scores",
    label="Toy made of scores",
    against="the toy of scores is at {value:.3f}",
    help="the square of the score",
    of_pairs=lambda pairs: pairs.score**2,
)
OF_NEIGHBOURHOODS = Evidence(
    name="toy_of_neighbourhoods",
    label="Toy made of neighbourhoods",
    against="the toy of neighbourhoods is at {value:.3f}",
    help="the lower one of the two densities",
    of_neighbourhoods=lambda measured: np.minimum(*measured.densities),
    card=lambda value, known: f"toy {value:.1f}",
)
TOYS = (OF_SCORES, OF_NEIGHBOURHOODS)
