"""probe(): are these two collections linkable? What can be known before linking, and a forecast of its result."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from veclink.data.no_links import NEXT_WITHOUT_SEEDS, NO_LINKS_WITHOUT_SEEDS, no_start_converged, too_few_rows
from veclink.data.notebook import card
from veclink.data.pairs import KnownPairs, resolve_seeds
from veclink.data.summary import plain_json
from veclink.errors import named, plural
from veclink.files.atomic import written_whole
from veclink.geometry.clouds import prepare
from veclink.linkers.anchors import anchors_from_pairs
from veclink.linkers.span.constants import MIN_DIM_FOR_SEED_CHECK
from veclink.probing.forecast import Forecast, forecast_links
from veclink.probing.seeds import SeedCheck, check_seeds
from veclink.probing.sides import SameSpace, Side, compare_spaces, look_at
from veclink.probing.starting import StartTrial, try_start
from veclink.progress import ProgressListener, heard, shows_progress
from veclink.stores.opening import open_collection
from veclink.threads import computing

__all__ = ["Forecast", "Probe", "SameSpace", "SeedCheck", "Side", "StartTrial", "probe"]

ORPHANS = 0.05  # share of rows that are nobody's neighbours; real encoders leave less than 1 in 100
# Of a collection: right pairs are nearer than this as seen from the other seeds, wrong ones are anywhere. Of 40 draws
# of 8 right seeds it held for 40 (papers), 39 (scifact), 35 (nfcorpus), 28 (reddit), 20 (movies), 17 (stackexchange),
# of 15 for 40, 40, 40, 40, 33 and 36. Of 8 and of 15 wrong ones it held for none, of 5 for up to 4.
TELLING = 0.1
SAFE = 8  # seeds that can tell that it works, and that make a start safe
ENOUGH = 15  # seeds: where so many are no nearer, something is wrong with them; fewer may just be few
TOO_FEW_SEEDS = (
    "{} alone cannot tell; right ones may look so, and wrong ones too. A trial tells: leave out --no-forecast, or link."
)


@dataclass(frozen=True)
class Probe:
    """What is known of two collections before they are linked.

    Attributes
    ----------
    a, b : Side
        What each collection is like.
    same_space : SameSpace
        Whether their vectors compare as they are.
    seeds : SeedCheck, optional
        What the seeds say; None without any.
    forecast : Forecast, optional
        What linking will give; None where there was nothing to forecast from.
    verdict : str
        "linkable", "doubtful" or "not linkable", as linking them, or a part, says (a part alone is never reason enough
        for "not linkable"); "same space"; or "unknown" where neither seeds nor a trial could tell.
    sentence : str
        The same for a person.
    remarks : tuple of str
        What may be in the way.
    start : optional
        How a start without seeds went, where the collections are too large to be linked for a forecast.
    """

    a: Side
    b: Side
    same_space: SameSpace
    seeds: SeedCheck | None
    forecast: Forecast | None
    verdict: str
    sentence: str
    remarks: tuple[str, ...]
    start: StartTrial | None = None

    @property
    def is_open(self) -> bool:
        """Whether a trial without seeds could not tell what is shared."""
        return self.sentence.startswith(NO_LINKS_WITHOUT_SEEDS)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return plain_json(asdict(self))

    def save(self, path: str | Path) -> None:
        """Write what is known as JSON, whole or not at all."""
        with written_whole(path) as temporary:
            temporary.write_text(json.dumps(self.to_dict(), indent=1, ensure_ascii=False), encoding="utf-8")

    def _repr_html_(self) -> str:
        told_a, told_b = self.a.told(), self.b.told()
        rows = [(name, value, told_b[name]) for name, value in told_a.items()]
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
        The same one gives the same answer.
    progress : callable or True, optional
        Hears how far the trial is; True shows it.
    """
    progress = heard(progress)
    left, right = open_collection(a), open_collection(b)
    known = None if seeds is None else resolve_seeds(seeds, left, right)
    pairs = None if known is None else known.rows
    rng = np.random.default_rng(random_state)
    clouds = prepare(left, skip_zero=True, side="A"), prepare(right, skip_zero=True, side="B")
    sides = look_at(clouds[0], rng), look_at(clouds[1], rng)
    same = compare_spaces(*clouds, rng)
    ahead = None
    if forecast and not same.same:
        ahead = forecast_links(*clouds, pairs, device=device, random_state=random_state, progress=progress)
    start = None
    if forecast and not same.same and ahead is None:
        start = try_start(*clouds, device=device, random_state=random_state, progress=progress)
    checked = None
    if pairs is not None:
        wrong = None if ahead is None else ahead.wrong_seeds
        checked = check_seeds(*clouds, anchors_from_pairs(*clouds, pairs), wrong, rng)
    verdict, sentence = _verdict(same, checked, ahead)
    if start is not None:
        verdict, sentence = verdict_of_start(start, min(each.dimension for each in sides))
    remarks = _remarks(sides, checked, whole=ahead is not None and ahead.whole)
    remarks = (*remarks, *_remarks_on_contradictions(known))
    if sentence.startswith(NO_LINKS_WITHOUT_SEEDS):
        remarks = (NEXT_WITHOUT_SEEDS, *remarks)
    return Probe(
        *sides,
        same,
        checked,
        ahead,
        verdict,
        sentence,
        remarks,
        start,
    )


def _verdict(same: SameSpace, seeds: SeedCheck | None, ahead: Forecast | None) -> tuple[str, str]:
    if same.same:
        return (
            "same space",
            "Both are in the same space already: their vectors compare as they are, and linking is not needed.",
        )
    if ahead is not None:
        return verdict_of(ahead)
    if seeds is not None:
        if seeds.typical <= TELLING and seeds.count >= SAFE:
            return "linkable", "Probably linkable: the seeds see one another's partners as near."
        if seeds.count < ENOUGH:
            return "unknown", f"Unknown: {TOO_FEW_SEEDS.format(plural(seeds.count, 'seed'))}"
        return "doubtful", "Doubtful: the seeds do not see one another's partners as near; give more, or check them."
    return "unknown", "Unknown: nothing was tried; give known pairs with --seeds, or leave out --no-forecast."


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
    if ahead.verdict == "not linkable":
        if ahead.whole and (no_start_converged(ahead.reasons) or too_few_rows(ahead.reasons)):
            return "not linkable", ahead.reasons[0]
        if ahead.whole:
            return "not linkable", "Not linkable as they are: linking all of it found no trustworthy link."
        return (
            "doubtful",
            f"Doubtful: {where} found no trustworthy link. A part is harder than the whole: all of it may still link.",
        )
    word = "Linkable" if ahead.verdict == "linkable" else "Doubtful"
    gave = f"{word}: {where} gave {ahead.n_links:,} links"
    if ahead.precision is None or ahead.precision_range is None:
        return ahead.verdict, f"{gave}."
    low, high = ahead.precision_range
    right, likely = f"about {100 * ahead.precision:.0f} of 100", f"(likely {100 * low:.0f} to {100 * high:.0f})"
    if ahead.whole:
        return ahead.verdict, f"{gave}, {right} right {likely}."
    return ahead.verdict, f"{gave}. Of all links, {right} should be right {likely}."


def _remarks(sides: tuple[Side, Side], seeds: SeedCheck | None, *, whole: bool) -> tuple[str, ...]:
    told = []
    for letter, side in zip("AB", sides, strict=True):
        if side.zero:
            told.append(f"{letter} has {side.zero:,} zero vectors; link with --skip-zero, or remove them.")
        if side.duplicates:
            told.append(f"{letter} has {side.duplicates:,} rows that repeat an earlier one exactly.")
        if side.orphans > ORPHANS:
            told.append(f"{letter} has hubs: {side.orphans:.0%} of its rows are among the nearest of no other row.")
    if seeds is not None and seeds.suspects:
        seen = "linking leaves them out" if whole else "as far as the part that was tried can tell"
        told.append(f"{len(seeds.suspects):,} of the {seeds.count:,} seeds look wrong: {seen}.")
    if seeds is not None and seeds.count < SAFE:
        told.append(f"There are {seeds.count:,} seeds; {SAFE} or more make the start safe.")
    return tuple(told)


def _remarks_on_contradictions(seeds: KnownPairs | None) -> tuple[str, ...]:
    if seeds is None or not len(seeds.contradicting):
        return ()
    torn = named([tuple(pair) for pair in seeds.contradicting.tolist()])
    return (f"{len(seeds.contradicting):,} seeds contradict one another, by row {torn}: linking uses none of them.",)
