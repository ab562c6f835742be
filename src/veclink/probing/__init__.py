"""What can be known of one collection, or of two before they are linked, with a forecast of the result."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from veclink.data.no_links import NEXT_WITHOUT_SEEDS, NO_LINKS_WITHOUT_SEEDS, no_start_converged, too_few_rows
from veclink.data.pairs import KnownPairs, resolve_seeds
from veclink.data.summary import plain_json
from veclink.data.tabled import card
from veclink.errors import named, plural
from veclink.geometry.clouds import prepare
from veclink.linkers.anchors import anchors_from_pairs
from veclink.linkers.span.constants import MIN_DIM_FOR_SEED_CHECK
from veclink.probing.inspecting import Inspection, SameSpace, compare_spaces, inspect_collection
from veclink.probing.trials import Forecast, SeedCheck, StartTrial, check_seeds, forecast_links, try_start
from veclink.progress import ProgressListener, heard, shows_progress
from veclink.stores.opening import open_collection
from veclink.threads import computing

ORPHANS = 0.05  # share of rows that are nobody's neighbours; real encoders leave less than 1 in 100
# Of a collection: right pairs are nearer than this as seen from the other seeds, wrong ones are anywhere. Of 40 draws
# of 8 right seeds it held for 40 (papers), 39 (scifact), 35 (nfcorpus), 28 (reddit), 20 (movies), 17 (stackexchange),
# of 15 for 40, 40, 40, 40, 33 and 36. Of 8 and of 15 wrong ones it held for none, of 5 for up to 4.
TELLING = 0.1
SAFE = 8  # seeds that can tell that it works, and that make a start safe
ENOUGH = 15  # seeds: where so many are no nearer, something is wrong with them; fewer may just be few


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
        return self.sentence.startswith(NO_LINKS_WITHOUT_SEEDS)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return plain_json(asdict(self))

    def _repr_html_(self) -> str:
        told_b = self.b.told()
        rows = [(name, value, told_b[name]) for name, value in self.a.told().items()]
        remarks = [("Note", remark) for remark in self.remarks]
        return card(f"{self.verdict}: {self.sentence}", remarks, ("", "A", "B"), rows)


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
    a, b : array of shape (n, d), Collection, path or URL
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
        Hears how far the trial is; True shows it.
    """
    left, right = open_collection(a), open_collection(b)
    known = None if seeds is None else resolve_seeds(seeds, left, right)
    rng = np.random.default_rng(random_state)
    clouds = prepare(left, skip_zero=True, side="A"), prepare(right, skip_zero=True, side="B")
    how: dict[str, Any] = {"random_state": random_state}
    sides = inspect_collection(left, copies=False, **how), inspect_collection(right, copies=False, **how)
    same = compare_spaces(*clouds, rng)
    how |= {"device": device, "progress": heard(progress)}
    ahead = start = checked = None
    if forecast and not same.same:
        ahead = forecast_links(*clouds, None if known is None else known.rows, **how)
        start = try_start(*clouds, **how) if ahead is None else None
    if known is not None:
        wrong = None if ahead is None else ahead.wrong_seeds
        checked = check_seeds(*clouds, anchors_from_pairs(*clouds, known.rows), wrong, rng)
    if start is not None:
        verdict, sentence = verdict_of_start(start, min(each.dimension for each in sides))
    else:
        verdict, sentence = _verdict(same, checked, ahead)
    remarks = _remarks(sides, known, checked, whole=ahead is not None and ahead.whole)
    if sentence.startswith(NO_LINKS_WITHOUT_SEEDS):
        remarks = [NEXT_WITHOUT_SEEDS, *remarks]
    return Probe(*sides, same, checked, ahead, verdict, sentence, tuple(remarks), start)


def verdict_of_start(start: StartTrial, dimension: int) -> tuple[str, str]:
    """The verdict of a start without seeds, and the sentence that says it. dimension: of the smaller space."""
    if not start.converged:
        return "unknown", NO_LINKS_WITHOUT_SEEDS
    if dimension < MIN_DIM_FOR_SEED_CHECK:
        return "doubtful", "Doubtful: a start without seeds converged, which in so few dimensions happens by chance."
    return "linkable", f"Probably linkable: a start without seeds converged, tried on {start.asked:,} rows."


def verdict_of(ahead: Forecast) -> tuple[str, str]:
    """The verdict of a trial, and the sentence that says it."""
    where = "linking all of it" if ahead.whole else "linking a part of it, near the seeds,"
    if ahead.verdict == "not linkable" and not ahead.whole:
        part = "A part is harder than the whole: all of it may still link."
        return "doubtful", f"Doubtful: {where} found no trustworthy link. {part}"
    if ahead.verdict == "not linkable":
        known = no_start_converged(ahead.reasons) or too_few_rows(ahead.reasons)
        return ahead.verdict, ahead.reasons[0] if known else f"Not linkable as they are: {where} found no sure link."
    gave = f"{ahead.verdict.capitalize()}: {where} gave {ahead.n_links:,} links"
    if ahead.precision is None or ahead.precision_range is None:
        return ahead.verdict, f"{gave}."
    low, high = ahead.precision_range
    right, likely = f"about {100 * ahead.precision:.0f} of 100", f"(likely {100 * low:.0f} to {100 * high:.0f})"
    told = f", {right} right {likely}." if ahead.whole else f". Of all links, {right} should be right {likely}."
    return ahead.verdict, f"{gave}{told}"


def _verdict(same: SameSpace, seeds: SeedCheck | None, ahead: Forecast | None) -> tuple[str, str]:
    if same.same:
        compare = "their vectors compare as they are, and linking is not needed."
        return "same space", f"Both are in the same space already: {compare}"
    if ahead is not None:
        return verdict_of(ahead)
    if seeds is None:
        return "unknown", "Unknown: nothing was tried; give known pairs with --seeds, or leave out --no-forecast."
    if seeds.typical <= TELLING and seeds.count >= SAFE:
        return "linkable", "Probably linkable: seen from the other seeds, the partner of a seed is near."
    if seeds.count < ENOUGH:
        few = f"{plural(seeds.count, 'seed')} are too few to judge: right and wrong seeds look alike."
        return "unknown", f"Unknown: {few} A trial tells: leave out --no-forecast, or link."
    return (
        "doubtful",
        "Doubtful: seen from the other seeds, the partner of a seed is not near. Give more, or check them.",
    )


def _remarks(
    sides: tuple[Inspection, Inspection], known: KnownPairs | None, seeds: SeedCheck | None, *, whole: bool
) -> list[str]:
    told = []
    for letter, side in zip("AB", sides, strict=True):
        if side.zero:
            told.append(f"{letter} has {side.zero:,} zero vectors; link with --skip-zero, or remove them.")
        if side.duplicates:
            told.append(f"{letter} has {side.duplicates:,} rows that repeat an earlier one exactly.")
        if side.two_models:
            told.append(f"{letter}: {side.reasons[0]}")
        if side.orphans > ORPHANS:
            told.append(f"{letter} has hubs: {side.orphans:.0%} of its rows are among the nearest of no other row.")
    if known is None or seeds is None:
        return told
    if seeds.suspects:
        seen = "linking leaves them out" if whole else "as far as the part that was tried can tell"
        told.append(f"{len(seeds.suspects):,} of the {seeds.count:,} seeds look wrong: {seen}.")
    if seeds.count < SAFE:
        told.append(f"There are {seeds.count:,} seeds; {SAFE} or more make the start safe.")
    if torn := [tuple(pair) for pair in known.contradicting.tolist()]:
        told.append(f"{len(torn):,} seeds contradict one another, by row {named(torn)}: linking uses none of them.")
    return told
