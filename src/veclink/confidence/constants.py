"""Every number of this package that decides results, with what it was chosen on.

"Origin not recorded" means that no trial of the repository says why the number is what it is: it came with the first
version that had it, and what was measured since was measured with it.
"""

from __future__ import annotations

from veclink.geometry.clouds import LARGE

CALIBRATION_VERSION = "0.3.0"
"""Of all that probabilities, estimates, verdicts and reasons follow from. Summaries, links files and results carry it.

Changes whenever the golden numbers of `tests/fixtures/calibration.json` do.
"""

# --- Candidates -----------------------------------------------------------------------------------------------------

FOLDS = 5
"""Maps that the pool is cross-fitted by, as many as in the first prototype, in which anchors confirmed themselves.

Other numbers were not tried.
"""

BEST_LISTED = 3
"""Candidates kept for each row: the partner, the one that replaces it when it is removed, and a rival of that one.

Follows from how decoys are made; fewer would not do.
"""

FULL_FOLDS = LARGE
"""Rows up to which every fold is matched in full; above, one map is matched and the folds only score its pairs.

A matter of time, not of accuracy: matching is quadratic in the rows. On 500 rows the two ways agree on nine of ten
mutual pairs (`tests/confidence/test_candidates.py`).
"""

DIRECTIONS_OF_LARGE = 384
"""Principal directions in which the one map of large clouds is fitted.

F1 of 1.18M titles was 90.1 with 256, as for small ones, and is 91.2 now, with a later calibration. Of six corpora
(minilm–e5, 9,000 links, one in 25 wrong), each row beside a near twin, 92.0 % found their partner with 256 directions
and 93.4 % with all 384.
"""

NO_RIVAL_SCORE = -1.0
"""CSLS that stands for a rival where a row has no other candidate: below any score that matters."""

# --- Decoys ---------------------------------------------------------------------------------------------------------

DECOY_BASE_WEIGHT = 0.3
"""Of the mean probability: what every link weighs as the source of a decoy, on top of its own probability.

Keeps doubtful links among the sources. Origin not recorded; without it F1 is half a point lower (41 runs of `veclink
bench real`, choose).
"""

DECOY_RATE_INFLATION = 0.2
"""How much more often than the decoys' rate a row without a partner ends in a wrong link, times the share of wrong
candidates. Without it the error of the estimated precision was 5.1 points instead of 3.1 in 104 runs."""

# --- The mixture of right and wrong candidates ----------------------------------------------------------------------

FEATURE_RIDGE = 3.0
"""Ridge of the regression on standardised features.

Chosen among 1, 3, 10 and 40 on 41 runs of `veclink bench real` (choose): mean F1 85.8, 86.0, 86.1 and 85.5 (the last
two with three features more). The weaker it is, the surer the model is of itself: the estimated precision of a tenth of
2,000 rows was 12, 7, 2 and −2 points high, and recall at 0.95 was 67, 64, 59 and 47.
"""

MIN_CANDIDATES = 3
"""Mutual candidates below which nothing can be calibrated."""

MAX_FITTED_CANDIDATES = 20_000
"""Mutual candidates that a regression of a few features is fitted to at most: more cost time and change nothing."""

FITTED_OF_MANY = 5_000
"""Of more than MAX_FITTED_CANDIDATES, so many are drawn to fit it to: where a tenth of them is wrong, chance changes
that share by a twentieth of itself."""

MAX_ROUNDS = 40
"""Rounds of expectation–maximisation at most. Of small problems not all end before: that of the golden numbers ends
here, with a mean change just above MIXTURE_CONVERGED. Origin not recorded."""

MIXTURE_CONVERGED = 1e-3
"""Mean change of the probabilities below which the rounds end. Origin not recorded."""

FIRST_GUESS_QUANTILES = (0.3, 0.95)
"""Of the scores: where the first guess of the probability is 0, and where it is 1. Origin not recorded."""

OWN_DOUBT_SHARE = 0.5
"""Share of the wrong class that the candidates' own doubtful ones stand for; decoys stand for the rest.

Decoys alone score too low to stand for the wrong links that matter (a regression trained on confident links against
decoys lost 3 to 5 points of F1 on scifact and nfcorpus at 30 % overlap). The half itself: origin not recorded; in 41
runs of `veclink bench real` (choose), 0.3 gave 2 points more recall at 0.95, with estimates 1 to 4 points higher where
few are shared, and 0.7 lost 7 points of it.
"""

RATE_ERROR = 0.08
"""Relative error of the decoys' rate besides that of sampling: linked rows are not quite like those without a partner.

On short titles the rate is off by up to a tenth (five corpora, three encoder pairs, 15 and 30 % overlap).
"""

REGRESSION_ERROR = (0.2, 0.035)
"""Error of the regression's count of wrong links: the smaller of these shares of the right and of the wrong ones. Of
the other weights that were tried on 77 runs, the mean of both counts gave F1 84.2 to 84.9, these 85.4."""

NORMALS_APART = (2.0, 3.0)
"""Distance (d′) of two normal components of the log odds from which their count raises the others', and from which it
does so fully. With other domains on both sides they stand 3.6 to 4.2 apart, and decoys count a tenth of the wrong ones.
"""

MIN_CANDIDATES_FOR_NORMALS = 100
"""Candidates from which the components are looked for: of 60 right ones on the sample, chance made two components."""

MIN_WRONG_SHARE = 0.02
"""Share of the candidates that is taken to be wrong at least, and right at least; also the bounds of a rate.

Keeps both classes of the regression alive. Origin not recorded.
"""

MUTUAL_SHARE = 0.97
"""Share of the true pairs that are mutual candidates where linking works: 95 to 98 % in trials on real vectors."""

DUPLICATE_TOLERANCE = 0.25
"""Of the best score: how far below it a second copy of the same object may score. Origin not recorded."""

# --- Explanations ---------------------------------------------------------------------------------------------------

SURE = 0.9
"""Probability below which a link is worth a look. A choice, not a measurement."""

MIN_TELLING_CHANGE = 0.3
"""Of the log odds: evidence that lowers them by less is not worth a word. A choice, not a measurement."""

# --- Ranges ---------------------------------------------------------------------------------------------------------

COUNT_ERROR = 0.4
"""Standard deviation of the log odds of the share of right candidates, where many are right: see `intervals`.

This and the next were chosen on 77 runs of the corpora to choose on: where 0.95 was asked for, 9 of 74 had a true
precision below 94 % and 4 below 90 %; the range of the precision held it in 66 of 77.
"""

FEW_RIGHT_ERROR = 10.0
"""The same where few are, times the root of their number."""

LEAST_MUTUAL_SHARE = 0.35
"""Share of the true pairs that are mutual candidates, at least, where no given pair says more: two shops have 0.4."""

NORMAL_90 = 1.645
"""Standard deviations within which 90 % of a normal distribution lie."""
