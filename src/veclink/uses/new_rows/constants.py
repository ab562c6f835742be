"""Every number of this package that decides results, with what it was chosen on."""

from __future__ import annotations

BACKDROP_ROWS = 2048
"""Rows of each side that are kept as a sample of it: how crowded the place of a new row is, is measured among them."""

NEARBY_ANCHORS = 1024
"""Links that are kept with their vectors, as neighbours of new pairs: as many as linking itself looks at."""

PRIOR_ROWS = 10
"""Rows that the share of shared rows of the fit counts for, against the new rows of a batch.

30 was tried first and held the estimate back: of 100 new rows, 70 shared, 59 seemed to be (reddit, minilm–mpnet).
"""

CLEAR_LEAD = 0.02
"""How far a new pair has to score above a known pair of the same row to take its place, however probable that was.

A copy of a known row scores like that row; less than this counts as alike, and the more probable pair stays. Chosen on
copies of linked rows of the sample.
"""

LISTED_BY_COSINE = 64
"""Partners of each new row that are kept by cosine in the one pass over a large collection, and ranked afterwards."""

REFIT_GROWTH = 0.25
"""New rows of either side, as a share of those at the last fit, from which `update` links again where it can."""
