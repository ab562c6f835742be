"""What can be known of one collection, or of two before they are linked, with a forecast of the result.

What is tried before linking: what the seeds agree on, a start without seeds, and linking a part of the collections.
A random part would lose nearly all partners: with a tenth of either side, one in a hundred pairs is left. Near the
seeds they stay together, since both models agree on what is near. Not all of them do, so a part is harder than the
whole: in trials the whole had a third as many wrong links, in its share, and missed half as many objects. The forecast
allows for that; how often its ranges hold is in `bench/results/experiments/coverage.json`.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from veclink.backends import chosen_device, placed_clouds
from veclink.confidence.intervals import Interval, estimate
from veclink.data.collection import Collection, numbers
from veclink.data.pairs import resolve_seeds
from veclink.data.summary import plain_json
from veclink.data.words import USUALLY_ENOUGH, card, say
from veclink.errors import named
from veclink.geometry.clouds import Cloud, prepare
from veclink.geometry.nearest import EXCLUDED
from veclink.geometry.signatures import RIDGE
from veclink.linkers.anchors import Anchors, anchors_from_pairs, no_pairs
from veclink.linkers.linking import link
from veclink.linkers.outlier_seeds import held_out_shares
from veclink.linkers.span.constants import MIN_DIM_FOR_SEED_CHECK
from veclink.linkers.span.starts import DEFAULT_OPTIONS, best_pool
from veclink.probing.inspecting import Inspection, SameSpace, compare_spaces, inspect_collection
from veclink.progress import Progress, ProgressListener, heard, shows_progress
from veclink.stores.opening import open_collection
from veclink.threads import computing

# Of a collection: right pairs are nearer than this as seen from the other seeds, wrong ones are anywhere. Of 40 draws
# of 8 right seeds it held for 40 (papers), 39 (scifact), 35 (nfcorpus), 28 (reddit), 20 (movies), 17 (stackexchange),
# of 15 for 40, 40, 40, 40, 33 and 36. Of 8 and of 15 wrong ones it held for none, of 5 for up to 4.
TELLING = 0.1
SAFE, LEAST = 8, 4  # seeds that can tell that it works, and make a start safe; that can be held against one another
WHOLE, PART = 4000, 2500  # rows up to which a collection is linked as a whole; rows of a larger one that are linked
# What is wrong and what is missed of the whole, as a multiple of what the part says: the least, the middle, the most.
WRONG, MISSED = (0.12, 0.36, 0.9), (0.1, 0.5, 1.8)

Rows = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class SeedCheck:
    """What the seeds say; `correlation`, `curve` and `neighbours` leave out the seeds that look wrong."""

    count: int
    correlation: float | None  # of the distances between seeds in the two spaces
    curve: tuple[tuple[float, float, int], ...]  # (mean distance in A, correlation, pairs), from near pairs to far ones
    neighbours: tuple[tuple[int, float, float], ...]  # (k, Jaccard overlap of a seed's k nearest seeds, by chance)
    typical: float  # share of a collection nearer to a seed than its partner, seen from the others; wrong ones: 0.4
    suspects: Rows | None  # rows of the seeds that look wrong, by the rule of linking; None where no trial could tell


@dataclass(frozen=True)
class StartTrial:
    """How the start from nothing went: of the rows asked, the share in pairs that the views agree on."""

    converged: bool
    share: float
    asked: int
    tried: int
    seconds: float

    @property
    def sentence(self) -> str:
        """What was tried, and what came of it."""
        return say("start_tried", **vars(self))


@dataclass(frozen=True)
class Forecast:
    """What linking will give, as far as a trial can tell; ranges hold the truth about nine times in ten."""

    whole: bool  # whether everything was linked, or only `rows` of either side near the seeds
    rows: tuple[int, int]
    n_links: int
    verdict: str
    reasons: tuple[str, ...]
    precision: float | None  # of linking everything
    precision_range: tuple[float, float] | None
    recall: float | None
    recall_range: tuple[float, float] | None
    shared: float | None  # share of the smaller collection (of the part) that is in both
    seconds: float  # for linking everything on this machine
    seconds_range: tuple[float, float]
    wrong_seeds: Rows | None  # given pairs that look wrong; None where that cannot be said
    open_as: str | None  # the code of the reason why linking everything could not tell what is shared; None if it could


@dataclass(frozen=True)
class Probe:
    """What is known of two collections before they are linked."""

    a: Inspection
    b: Inspection
    same_space: SameSpace
    seeds: SeedCheck | None
    forecast: Forecast | None  # None where there was nothing to forecast from
    # "linkable", "doubtful" or "not linkable", as linking them, or a part, says (a part alone is never reason enough
    # for "not linkable"); "same space"; or "unknown" where neither seeds nor a trial could tell.
    verdict: str
    sentence: str  # the same for a person
    remarks: tuple[str, ...]  # what may be in the way
    start: StartTrial | None = None  # how a start without seeds went, where the collections are too large to be linked

    @property
    def is_open(self) -> bool:
        """Whether a trial without seeds could not tell what is shared."""
        failed = self.start is not None and not self.start.converged
        return failed or (self.forecast is not None and self.forecast.open_as == "no_links_without_seeds")

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return plain_json(asdict(self))

    def sides(self) -> list[tuple[str, str, str]]:
        """What both collections are like: name, of A, of B."""
        return [(name, value, self.b.told()[name]) for name, value in self.a.told().items()]

    def _repr_html_(self) -> str:
        remarks = [("Note", remark) for remark in self.remarks]
        return card(f"{self.verdict}: {self.sentence}", remarks, ("", "A", "B"), self.sides())


@shows_progress
@computing()
def probe(
    a: Any,
    b: Any,
    *,
    seeds: Any = None,
    forecast: bool = True,
    device: str = "auto",
    random_state: int = 0,
    progress: ProgressListener | bool | None = None,
) -> Probe:
    """Look at two collections before linking them.

    Parameters
    ----------
    a, b : array of shape (n, d), frame, Collection, path or URL
        The two collections, as for `link`.
    seeds : pairs of shape (m, 2) or path, optional
        Known pairs, as for `link`: they tell whether the two models agree on what is near, and which ones look wrong.
    forecast : bool
        Whether to link a part of the collections (all, where they are small) to forecast the result; of large ones
        without seeds, only the start is tried.
    device : str
        Where the trial runs, as for `link`.
    random_state : int
        Seed of the random generator.
    progress : callable or True, optional
        Called with the progress. True shows it.
    """
    left, right = open_collection(a), open_collection(b)
    known, torn = (None, no_pairs()) if seeds is None else resolve_seeds(seeds, left, right)
    rng = np.random.default_rng(random_state)
    clouds = prepare(left, skip_zero=True, side="A"), prepare(right, skip_zero=True, side="B")
    how: dict[str, Any] = {"random_state": random_state}
    sides = inspect_collection(left, copies=False, **how), inspect_collection(right, copies=False, **how)
    same = compare_spaces(*clouds, rng)
    how |= {"device": device, "progress": heard(progress)}
    ahead = start = checked = None
    if forecast and not same.same:
        ahead = forecast_links(*clouds, known, **how)
        start = try_start(*clouds, **how) if ahead is None else None
    if known is not None:
        wrong = None if ahead is None else ahead.wrong_seeds
        checked = check_seeds(*clouds, anchors_from_pairs(*clouds, known), wrong, rng)
    if start is not None:
        verdict, state = verdict_of_start(start, min(each.dimension for each in sides))
    else:
        verdict, state = _verdict(same, checked, ahead)
    sentence = say("probed", state=state, ahead=ahead, start=start, seeds=checked)
    remarks = _remarks(sides, torn, checked, whole=ahead is not None and ahead.whole)
    found = Probe(*sides, same, checked, ahead, verdict, sentence, tuple(remarks), start)
    return replace(found, remarks=(say("next", way="nothing"), *remarks)) if found.is_open else found


def verdict_of_start(start: StartTrial, dimension: int) -> tuple[str, str]:
    """The verdict of a start without seeds, and what the words call that. dimension: of the smaller space."""
    if not start.converged:
        return "unknown", "no start"
    if dimension < MIN_DIM_FOR_SEED_CHECK:
        return "doubtful", "few dimensions"
    return "linkable", "start"


def _verdict(same: SameSpace, seeds: SeedCheck | None, ahead: Forecast | None) -> tuple[str, str]:
    """The verdict without such a start, and what the words call that."""
    if same.same:
        return "same space", "same space"
    if ahead is not None:
        if ahead.verdict != "not linkable":
            return ahead.verdict, "linked"
        return (ahead.verdict, "nothing sure") if ahead.whole else ("doubtful", "part")
    if seeds is None:
        return "unknown", "nothing tried"
    if seeds.typical <= TELLING and seeds.count >= SAFE:
        return "linkable", "near"
    return ("unknown", "few") if seeds.count < USUALLY_ENOUGH else ("doubtful", "far")


def _remarks(
    sides: tuple[Inspection, Inspection], torn: np.ndarray, seeds: SeedCheck | None, *, whole: bool
) -> list[str]:
    told = []
    for letter, side in zip("AB", sides, strict=True):
        if side.zero:
            told.append(f"{letter} has {side.zero:,} zero vectors; link with --skip-zero, or remove them.")
        if side.duplicates:
            told.append(f"{letter} has {side.duplicates:,} rows that repeat an earlier one exactly.")
        if side.two_models:
            told.append(f"{letter}: {side.reasons[0]}")
        if side.orphans > 0.05:  # real encoders leave less than 1 in 100
            told.append(f"{letter} has hubs: {side.orphans:.0%} of its rows are among the nearest of no other row.")
    if seeds is None:
        return told
    if seeds.suspects:
        seen = "linking leaves them out" if whole else "as far as the part that was tried can tell"
        told.append(f"{len(seeds.suspects):,} of the {seeds.count:,} seeds look wrong: {seen}.")
    if seeds.count < SAFE:
        told.append(f"There are {seeds.count:,} seeds; {SAFE} or more make the start safe.")
    if len(torn):
        pairs = named([tuple(pair) for pair in torn.tolist()])
        told.append(f"{len(torn):,} seeds contradict one another, by row {pairs}: linking uses none of them.")
    return told


def check_seeds(a: Cloud, b: Cloud, seeds: Anchors, wrong: Rows | None, rng: np.random.Generator) -> SeedCheck:
    """Hold the seeds against one another. With fewer than four nothing can be said: typical is then as by chance.

    wrong: rows of the seeds that look wrong by `outlier_seeds.outliers`; None where no trial could tell.
    """
    assert seeds.pairs is not None  # seeds are pairs of rows
    chosen = np.sort(rng.permutation(len(seeds))[:400])
    left, right, pairs = seeds.left[chosen], seeds.right[chosen], seeds.pairs[chosen]
    if len(chosen) < LEAST:
        return SeedCheck(len(seeds), None, (), (), 0.5, wrong)
    # None is left out, however far off: those that then remain near are so by choice, and of eight right seeds four
    # others place the next one hardly better than chance.
    ranked = a.take(np.sort(rng.permutation(len(a))[:1000])), b.take(np.sort(rng.permutation(len(b))[:1000]))
    typical = float(np.exp(np.log(held_out_shares((left, right), np.arange(len(left)), ranked, RIDGE)).mean()))
    if wrong:  # pairs that look wrong would only blur what the models agree on
        rows = zip(a.rows[pairs[:, 0]].tolist(), b.rows[pairs[:, 1]].tolist(), strict=True)
        right_ones = np.array([pair not in wrong for pair in rows])
        if np.count_nonzero(right_ones) >= LEAST:
            left, right = left[right_ones], right[right_ones]
    near = [points @ points.T for points in (left, right)]
    n, upper = len(left), np.triu_indices(len(left), 1)
    far_a, far_b = (1 - each[upper] for each in near)
    parts = np.array_split(np.argsort(far_a, kind="stable"), max(1, min(6, len(far_a) // 15)))
    curve = [(float(far_a[part].mean()), _correlation(far_a[part], far_b[part]), len(part)) for part in parts]
    places = []  # of each seed in the order of each other one: the nearest stands at 0
    for each in near:
        np.fill_diagonal(each, EXCLUDED)
        places.append(np.argsort(np.argsort(-each, axis=1, kind="stable"), axis=1))
    neighbours = []
    for k in (k for k in (1, 2, 3, 5, 10, 20, 50) if k <= (n - 1) // 2):
        shared = ((places[0] < k) & (places[1] < k)).sum(axis=1)
        by_chance = k * k / (n - 1)
        neighbours.append((k, float((shared / (2 * k - shared)).mean()), by_chance / (2 * k - by_chance)))
    return SeedCheck(
        count=len(seeds),
        correlation=_correlation(far_a, far_b),
        curve=tuple((far, value, count) for far, value, count in curve if value is not None),
        neighbours=tuple(neighbours),
        typical=typical,
        suspects=wrong,
    )


def try_start(
    a: Cloud, b: Cloud, *, device: str, random_state: int, progress: ProgressListener | None = None
) -> StartTrial:
    """Make the start that linking two clouds without seeds would make, and no more.

    A random part of both sides would lose nearly all partners. So of large collections samples are aligned, and some
    rows of the smaller side are asked for partners among all of the other.
    """
    began, options = time.perf_counter(), DEFAULT_OPTIONS
    clouds = placed_clouds(a, b, chosen_device(device), None, k=options.k, ridge=options.ridge)

    def listen(step: int, links: int, agreement: float) -> None:
        if progress is not None:
            progress(Progress(step, None, links, agreement, "trying a start"))

    found = best_pool(clouds, None, np.random.default_rng(random_state), options=options, listener=listen)
    seconds = time.perf_counter() - began
    return StartTrial(found.converged, found.share, found.pool.extent, len(found.tried), seconds)


def forecast_links(
    a: Cloud,
    b: Cloud,
    pairs: np.ndarray | None,
    *,
    device: str,
    random_state: int,
    progress: ProgressListener | None = None,
    most: int = WHOLE,
    part: int = PART,
) -> Forecast | None:
    """Link what is small enough, else what is near the seeds; None where there are no seeds to be near to.

    most: rows up to which everything is linked; part: rows of either side that are linked where there are more.
    """
    whole = max(len(a), len(b)) <= most
    if not whole and pairs is None:
        return None
    seeds = None if pairs is None else np.column_stack([a.positions(pairs[:, 0]), b.positions(pairs[:, 1])])
    rows, given = [np.arange(len(a)), np.arange(len(b))], seeds
    if not whole and seeds is not None:
        rows = [_near(a, seeds[:, 0], part), _near(b, seeds[:, 1], part)]
        given = np.column_stack([np.searchsorted(rows[column], seeds[:, column]) for column in (0, 1)])
    # as collections of their own, without ids: the forecast speaks of none
    parts = [Collection(numbers(each.collection, each.rows[at])) for each, at in zip((a, b), rows, strict=True)]
    links = link(*parts, seeds=given, device=device, random_state=random_state, progress=progress)
    summary, found = links.summary, estimate(links)
    larger = float(np.sqrt((len(a) / len(rows[0])) * (len(b) / len(rows[1]))))
    # a GPU is mostly waiting at first
    seconds = (summary.seconds or 0.0) * larger ** (1.2 if chosen_device(device) == "cpu" else 0.4)
    shares: dict[str, Any] = dict.fromkeys(("precision", "precision_range", "recall", "recall_range"))
    if found is not None:
        for name, share, factors in (("precision", found.precision, WRONG), ("recall", found.recall, MISSED)):
            if not whole:
                best, middle, worst = (max(0.0, 1 - (1 - share.value) * factor) for factor in factors)
                share = Interval(middle, worst, best)
            shares |= {name: share.value, f"{name}_range": share.range}
    wrong = None
    if seeds is not None and (summary.verdict != "not linkable" or summary.wrong_seeds):
        wrong = tuple((int(a.rows[rows[0][i]]), int(b.rows[rows[1][j]])) for i, j in summary.wrong_seeds)
    return Forecast(
        whole=whole,
        rows=(len(rows[0]), len(rows[1])),
        n_links=len(links),
        verdict=summary.verdict,
        reasons=summary.reasons,
        **shares,
        shared=None if summary.overlap is None else summary.overlap / min(map(len, rows)),
        seconds=seconds,
        seconds_range=(seconds, seconds) if larger == 1 else (seconds / 3, seconds * 3),
        wrong_seeds=wrong,
        open_as=summary.why[0].code if whole and summary.is_open else None,
    )


def _correlation(x: np.ndarray, y: np.ndarray) -> float | None:
    if len(x) < 3 or min(x.std(), y.std()) < 1e-9:
        return None
    return float(np.corrcoef(x, y)[0, 1])


def _near(cloud: Cloud, seeds: np.ndarray, count: int) -> np.ndarray:
    """The `count` rows nearest to any of the seeds, with the seeds themselves, in rising order."""
    given, count = cloud.take(seeds), min(max(count, len(seeds)), len(cloud))
    size = 1 << 14
    nearest = np.concatenate(
        [(cloud.block(start, start + size) @ given.T).max(axis=1) for start in range(0, len(cloud), size)]
    )
    nearest[seeds] = np.inf
    return np.sort(np.argpartition(-nearest, count - 1)[:count])
