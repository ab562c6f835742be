"""Every number of this package that decides results, with what it was chosen on.

"Origin not recorded" means that no trial of the repository says why the number is what it is: it came with the first
version that had it, and what was measured since was measured with it.
"""

from __future__ import annotations

from veclink.geometry.clouds import LARGE

CALIBRATION_VERSION = "0.2.5"
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
"""How much more often a row without a partner ends in a wrong link than the decoys' rate says.

Wrong links in the pool bend the maps towards themselves, and removing one link does not undo that. So the decoys' rate
is taken times 1 + DECOY_RATE_INFLATION·(share of wrong candidates). Chosen together with `RATE_ERROR` and
`REGRESSION_ERROR` on splits of scifact, nfcorpus, papers, reddit and stackexchange at 15 % and 30 % overlap, and raised
from 0.15 with a look at the 15 % trials of the README's table: with 0.15 the estimated precision was 2.5 points high on
scifact and nfcorpus and 2 low on titles.
"""

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

UNDAMPED_ROUNDS = 6
"""Rounds after which a step goes half the way only: the two counts of wrong links can chase each other.

Origin not recorded.
"""

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

Chosen on five corpora, three encoder pairs and two splits, 15 % and 30 % overlap: on short titles the rate is off by up
to a tenth. The error of the estimated precision at 15 % fell from 5.6 to 2.1 points.
"""

REGRESSION_ERROR = (0.2, 0.035)
"""Error of the regression's count of wrong links: the smaller of these shares of the right and of the wrong ones.

The first came with the first version (origin not recorded), the second was chosen with `RATE_ERROR`, on the same
splits: the regression's count is within 5 % where many links are right.
"""

BIMODAL_ERROR = 0.05
"""Relative error of the count by two normal components where they are far apart.

This and the six that follow were chosen on scifact, reddit and movies (minilm–mpnet, minilm–e5, e5–granite) in 38 runs
over even splits, unequal sizes and other domains around: mean error of the estimated precision 7.6 → 5.0 points, mean
F1 80.3 → 82.9; with other domains on both sides, the estimated precision was 30 to 40 points high without it.
"""

MIN_BIMODAL = 100
"""Candidates from which the components are looked for: of 60 right ones on the sample, chance made two components."""

BIMODAL_OVERLAP_ERROR = 1.0
"""Relative error added where the components are BIMODAL_OVERLAPPING apart."""

BIMODAL_OVERLAPPING = 2.0
"""Distance of the components (d′) at which their count is worth nothing; from 3 on it was within 8 %."""

BIMODAL_FALL = 2.0
"""How fast that error falls as the components are further apart."""

BIMODAL_CHANCE_ERROR = 1.5
"""Relative error by chance, times the root of the count."""

OTHER_COUNT_ERROR = 0.15
"""Relative error of the count by decoys and regression that the one by components is weighed against."""

OTHER_COUNT_DISAGREEMENT = 0.5
"""How much larger that error is taken to be, per unit of the logarithm of the two counts' ratio."""

MOST_DECOYS = 0.75
"""Share of the decoys that lie below the place up to which candidates are counted.

This and the next three were chosen on 89 runs over scifact, reddit and movies under four encoders (even splits, unequal
sizes, few rows, other domains around), by what each kind gained: mean F1 78.3 → 79.4, mean error of the estimated
precision 6.1 → 4.8 points (few rows +5.5 → +0.6, half of 600 rows +5.1 → +1.0, a tenth of 2,000 +11.8 → +4.7). On 34
runs of other corpora 6.0 → 4.7 (`calibration_counts.json` of the results). Of 0.6, 0.7, 0.75 and 0.8, the lower ones
left more of the error, and 0.8 promised too little on even splits.
"""

SAY_OF_DECOYS = 0.5
"""Weight of the count among the decoys where it has its full say; alone it was 5 points low with other domains around,
whose rows without a partner are not like the decoys."""

SHARES_OF_SAY = (0.35, 0.5)
"""Share of right candidates, by that count, up to which it has no say and from which it has its full one.

Where few are right a small error of the wrong ones is a large one of the right ones: below, it was 8 to 20 points high.
"""

TEMPERATURE = (0.65, 0.85)
"""By how much log odds are multiplied at the end: the first, and the second times the share of right candidates; never
more than 1, which is reached at 41 %. The slope of the truth on the log odds was 0.4 to 0.8 where a tenth of the
candidates is right, 0.6 to 0.9 for a quarter, and 1 from 40 % on."""

FEW_CANDIDATES = 300
"""Candidates of which the share that is right is moved by RIGHT_OF_FEW over e; of many more it is left as it is.

Chosen with it, among 150, 300 and 600.
"""

RIGHT_OF_FEW = (-0.5, 0.6)
"""How far the log odds of that share move for no candidates at all: start + slope · log odds.

Wrong links that grew with the pool confirm one another, which no decoy shows: where 15–30 % of 150 candidates are right
they are taken for 35–50 %, and where nearly all are, for fewer. Fitted to 150 runs on scifact, reddit and movies: mean
error of the estimated precision 13.8 → 10.3 points for 100–600 rows among 2,700, of all else 4.9 → 4.8. On 65 runs of
nfcorpus, papers and stackexchange 9.5 → 7.1 and 4.7 → 4.0 (few_candidates.json of bench/results).
"""

MIN_WRONG_SHARE = 0.02
"""Share of the candidates that is taken to be wrong at least, and right at least; also the bounds of a rate.

Keeps both classes of the regression alive. Origin not recorded.
"""

MUTUAL_SHARE = 0.97
"""Share of the true pairs that are mutual candidates where linking works: 95 to 98 % in trials on real vectors."""

DUPLICATE_TOLERANCE = 0.25
"""Of the best score: how far below it a second copy of the same object may score. Origin not recorded."""

# --- The threshold for a wanted precision ---------------------------------------------------------------------------

FALSE_DISCOVERY_INFLATION = 4.0
"""How many more wrong links are counted for a wanted precision, times the share of all calibrated pairs that is wrong.

Where many pairs are wrong, little is known of the surest ones among those. Links files and summaries call the whole
factor, 1 + FALSE_DISCOVERY_INFLATION·(mean doubt), `caution`. Raised twice after trials at 15 % overlap had fallen
short: with 2, one of 50 trials had 88 of 100 right where 95 were asked for; with 3, 90. And once more for collections
as users have them (41 runs of `veclink bench real`, choose): where 0.95 was asked for, 35 had it with 3, 38 with 4, for
two points of recall.
"""

# --- Explanations ---------------------------------------------------------------------------------------------------

SURE = 0.9
"""Probability below which a link is worth a look. A choice, not a measurement."""

MIN_TELLING_CHANGE = 0.3
"""Of the log odds: evidence that lowers them by less is not worth a word. A choice, not a measurement."""

# --- Intervals: in logarithms of true value / estimate, chosen as `intervals` says ----------------------------------

FEWER_WRONG = (0.25, 1.0)
"""How many fewer links may be wrong than expected: (by 1/share, and anyway).

The 1.0 was 0.6 before all of 500 rows among 5,000 were seen (scifact, scifact with reddit: 4 wrong of 21 expected).
"""

MORE_WRONG = 0.5
"""How many more links may be wrong than expected."""

SURER = 0.5
"""Links whose least probability is above this are surer than the default threshold asks for, which is at most half of
the F1 that it expects; their range has `caution` in it. Of what `at` kept for 0.9, 0.95 and 0.99 (15 links or more),
the true precision lay below the range without it in 13 of 75, 15 of 72 and 10 of 57 runs on scifact, reddit and movies,
and in 1, 5 and 8 with it; on nfcorpus, papers and stackexchange in 5 of 28, 6 of 25 and 8 of 19, and in 1, 1 and 7: at
0.99, four wrong links where one is expected are more than it holds (`cut_ranges.json` of the results).
"""

LOWER_RECALL = (0.10, -0.15)
"""How much lower the recall may be: (by 1/share, and anyway). The 0.15 was 0.12 before the trials of the probe."""

HIGHER_RECALL = 0.06
"""How much higher the recall may be."""

FEWER_SHARED = 0.09
"""How many fewer objects may be shared."""

MORE_SHARED = (0.11, -0.12)
"""How many more objects may be shared: (by 1/share, and anyway)."""

FEW_LINKS_COUNT_ERROR = 4.0
"""Added to the errors of counts of wrong links, times 1/√overlap: few links make poor maps.

This and the next were chosen on the half `choose` of `veclink bench real`: in eight runs of few rows and of all of 100
or 150 rows among thousands, ranges held 5 precisions and 1 recall without them, and all 8 of both with them.
"""

FEW_LINKS_SHARE_ERROR = 3.0
"""The same for the errors of recall and overlap."""

MIN_SPREAD = 0.04
"""What an estimate may be off at least, whatever is shared."""

SMALLEST_SHARE = 1 / 15
"""Share of the smaller collection below which the trials say nothing; less is taken as this much."""

NORMAL_90 = 1.645
"""Standard deviations within which 90 % of a normal distribution lie."""
