"""Judged pairs of new rows as `Links`, and new rows as known rows."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from veclink.confidence.constants import BEST_LISTED, CALIBRATION_VERSION, MUTUAL_SHARE
from veclink.confidence.threshold import best_threshold, false_discovery_inflation
from veclink.data.links import Links
from veclink.data.links_files import row_evidence
from veclink.data.pairs import lookup
from veclink.data.summary import Summary, judged_anew, summary_of_first
from veclink.geometry.clouds import Cloud
from veclink.uses.new_rows.judging import Judged, Standing
from veclink.uses.new_rows.knowledge import Account, Knowledge, KnownSide, Part, marks_of
from veclink.uses.new_rows.learning import crowding, scales_of
from veclink.uses.new_rows.searching import Found

CLEAR_LEAD = 0.02
"""How far a new pair has to score above a known pair of the same row to take its place, however probable that was.

A copy of a known row scores like that row; less than this counts as alike, and the more probable pair stays. Chosen on
copies of linked rows of the sample.
"""
REFIT_GROWTH = 0.25
"""New rows of either side, as a share of those at the last fit, from which `update` links again where it can."""
_OF_THE_FIT = re.compile(r"(?:rival|near\d+|rank)_.*")
"""Evidence that a fit has and new rows have not: rivals, ranks and the nearest links."""


def as_links(
    known: Links,
    knowledge: Knowledge,
    side: int,
    judged: Judged,
    new: Cloud,
    other: Cloud,
    copies: int = 0,
) -> Links:
    """The links of new rows of one side.

    They end where the expected F1 of the links that are known and of these together is largest: one new row is kept or
    not by the same probability as any other. A row of the other side that was linked before goes to the new row if
    that pair is the more probable one, or a link itself and clearly ahead: a copy of a row that is known takes nothing
    away, and neither does a pair that is too improbable to be a link.

    Parameters
    ----------
    known : Links
        Of the linker.
    knowledge : Knowledge
        What the pairs were judged by.
    side : int
        Of the new rows: 0 for A, 1 for B.
    judged : Judged
        Pairs of their rows.
    new, other : Cloud
        The new rows that were judged, and the rows of the other side.
    copies : int
        How many of the new rows were left out as copies of known ones.
    """
    account = account_of(knowledge, side, judged, new, copies)
    overlap = account.overlap
    every = known.considered or known
    before = every.probability
    partner = other.rows[judged.places]
    surer = judged.probability > np.append(every.probability, 0.0)[_places(every, 1 - side, partner)]
    ahead = judged.lead > CLEAR_LEAD
    least = lowest_kept(before, judged.probability[surer | ahead], known, overlap)
    # Pairs below the least that are left out now do not move it: the best F1 ends before them.
    judged = judged.only(surer | (ahead & (judged.probability >= least)))
    probability = judged.probability
    kept = int(np.count_nonzero(probability >= least))
    rows, partner = new.rows[judged.rows], other.rows[judged.places]
    pairs = np.column_stack([rows, partner])
    ids = (new.collection.ids_at(rows), other.collection.ids_at(partner))
    sizes = (len(new.collection), knowledge.sides[1 - side].size)
    if side:
        pairs, ids, sizes = pairs[:, ::-1], ids[::-1], sizes[::-1]
    displaced = np.append(known.pairs[:, side], -1)[_places(known, 1 - side, partner)]
    summary = Summary(
        method=known.summary.method,
        n_a=sizes[0],
        n_b=sizes[1],
        n_links=len(pairs),
        overlap=overlap,
        verdict=known.summary.verdict,
        reasons=account.reasons,
        copies=(0, copies) if side else (copies, 0),
        caution=false_discovery_inflation(np.concatenate([before, probability])),
        calibration=CALIBRATION_VERSION,
    )
    considered = Links(
        pairs,
        probability,
        summary,
        evidence={**judged.evidence, "displaces": displaced},
        ids_a=ids[0],
        ids_b=ids[1],
        options=known.options,
    )
    return _with_verdict(first_of(considered, kept, overlap))


def account_of(knowledge: Knowledge, side: int, judged: Judged, new: Cloud, copies: int) -> Account:
    """What is told of new rows of one side, of which so many were left out as copies; arguments as of `as_links`."""
    every, zero = len(new.collection), len(new.collection) - len(new) - copies
    reasons = []
    if copies:
        are = "is a copy" if copies == 1 else "are copies"
        reasons.append(f"{copies:,} of the {every:,} new rows {are} of rows that the linker knows, and no new objects.")
    if zero:
        reasons.append(f"{zero:,} of the {every:,} new rows {'is' if zero == 1 else 'are'} zero and left out.")
    if len(new):
        reasons.append(_sentence(len(new), judged.shared, knowledge.shared_share(side)))
    return Account(judged.shared * len(new), copies, tuple(reasons))


def _with_verdict(links: Links) -> Links:
    """Links of new rows with the verdict that the range of their precision asks for."""
    return replace(links, summary=judged_anew(links.summary))


def _places(known: Links, side: int, rows: np.ndarray) -> np.ndarray:
    """Where the pairs of these rows (p,) of one side stand among the known ones; −1 where there is none."""
    column = known.pairs[:, side]
    order = np.argsort(column, kind="stable")
    place = lookup(column[order], rows)
    return np.append(order, -1)[place]


def lowest_kept(before: np.ndarray, new: np.ndarray, known: Links, overlap: float) -> float:
    """The probability down to which pairs are links, with those of the new rows among all others."""
    every = np.sort(np.concatenate([before, new]))[::-1]
    if not len(every):
        return 1.0
    return float(every[best_threshold(every, (known.summary.overlap or 0.0) + overlap) - 1])


def first_of(considered: Links, kept: int, overlap: float) -> Links:
    """The first so many of all judged pairs as links, with their estimates."""
    about = replace(considered.summary, overlap=overlap, overlap_range=None, seconds=None)
    summary = summary_of_first(about, considered.probability[:kept])
    return considered.some(slice(kept), summary, considered=considered)


def of_batch(links: Links, knowledge: Knowledge, side: int, rows: slice) -> Links:
    """The links of the rows of one side that came together, as links of that batch.

    Nothing else is said of them than what the linker holds: a run that is repeated writes the same file.
    """
    every = links.considered or links
    column = every.pairs[:, side]
    inside = (column >= rows.start) & (column < rows.stop)
    chosen = every.some(inside, replace(every.summary, n_links=int(inside.sum())), considered=None, trace={})
    pairs = chosen.pairs.copy()
    pairs[:, side] -= rows.start
    size = rows.stop - rows.start
    account = knowledge.sides[side].account_of(rows)
    if account is None:  # all rows were linked again since
        overlap = min(float(chosen.probability.sum()) / MUTUAL_SHARE, size)
        account = Account(overlap, 0, (_sentence(size, overlap / size, knowledge.shared_share(side)),))
    told = chosen.summary
    summary = replace(
        told,
        n_a=told.n_a if side else size,
        n_b=size if side else told.n_b,
        reasons=account.reasons,
        vectors=None,
        found=None,
        wrong_seeds=(),
        contradicting_seeds=(),
        copies=(0, account.copies) if side else (account.copies, 0),
    )
    evidence = {name: values for name, values in chosen.evidence.items() if not _OF_THE_FIT.fullmatch(name)}
    considered = replace(chosen, pairs=pairs, summary=summary, evidence=evidence)
    least = links.probability[-1] if len(links) else 1.0
    kept = int(np.count_nonzero(considered.probability >= least))
    return _with_verdict(first_of(considered, kept, account.overlap))


def worth_refitting(knowledge: Knowledge) -> bool:
    """Whether enough rows have come since the last fit."""
    return any(
        len(known) >= (1 + REFIT_GROWTH) * fitted
        for known, fitted in zip(knowledge.sides, knowledge.fitted_sizes, strict=True)
    )


def _sentence(n: int, shared: float, before: float) -> str:
    of_rows = f"about {shared:.0%} of the {n:,} new rows seem to have a partner"
    of_one = f"the new row has a partner with a chance of about {shared:.0%}"
    return (
        f"Judged by the maps and the model of an earlier run: {of_one if n == 1 else of_rows}, "
        f"and {before:.0%} of the rows of that run had one."
    )


def taken_in(
    links: Links,
    knowledge: Knowledge,
    side: int,
    judged: Judged,
    found: Found,
    new: Cloud,
    other: Cloud,
    copies: int = 0,
) -> tuple[Links, Knowledge]:
    """Links and knowledge once the new rows of one side are known rows.

    Parameters
    ----------
    links : Links
        So far.
    knowledge : Knowledge
        So far.
    side : int
        Of the new rows.
    judged, found : Judged, Found
        Their pairs.
    new, other : Cloud
        The new rows that were judged, and the rows of the other side.
    copies : int
        How many of the new rows were left out as copies of known ones.
    """
    fresh = as_links(links, knowledge, side, judged, new, other, copies)
    joined = _joined_links(links, fresh, side, knowledge)
    standing = judged.standing
    own = _grown(knowledge, side, found, standing, new)
    account = account_of(knowledge, side, judged, new, copies)
    own = replace(own, parts=(*own.parts, replace(Part.of(new.collection), account=account)))
    rest = _with_rivals(knowledge, side, standing)
    sides = (own, rest) if side == 0 else (rest, own)
    return joined, replace(knowledge, sides=sides)


def _joined_links(links: Links, fresh: Links, side: int, knowledge: Knowledge) -> Links:
    """The known links and those of the new rows; pairs whose row has found a better partner are left out."""
    before = links.considered or links
    after = fresh.considered or fresh
    start = knowledge.sides[side].size
    moved = after.pairs.copy()
    moved[:, side] += start
    stays = ~np.isin(before.pairs[:, 1 - side], after.pairs[:, 1 - side])
    overlap = (links.summary.overlap or 0.0) + (fresh.summary.overlap or 0.0)
    n_a = start + fresh.summary.n_a if side == 0 else links.summary.n_a
    n_b = start + fresh.summary.n_b if side == 1 else links.summary.n_b
    probability = np.concatenate([before.probability[stays], after.probability])
    columns = {}
    for name in dict.fromkeys([*before.evidence, *after.evidence]):
        old, new = before.evidence.get(name), after.evidence.get(name)
        kind = (new if old is None else old).dtype  # type: ignore[union-attr]
        old = _unknown(name, kind, len(before)) if old is None else old
        columns[name] = np.concatenate([old[stays], _unknown(name, kind, len(after)) if new is None else new])
    ids = [
        None if old is None or new is None else np.concatenate([old[stays], new])
        for old, new in ((before.ids_a, after.ids_a), (before.ids_b, after.ids_b))
    ]
    considered = Links(
        np.concatenate([before.pairs[stays], moved]),
        probability,
        replace(links.summary, n_links=len(probability), n_a=n_a, n_b=n_b, overlap=overlap, vectors=None),
        evidence=columns,
        ids_a=ids[0],
        ids_b=ids[1],
        options=links.options,
        trace=links.trace,
    )
    least = lowest_kept(before.probability[stays], after.probability, links, fresh.summary.overlap or 0.0)
    kept = int(np.count_nonzero(considered.probability >= least))
    return first_of(considered, kept, overlap)


def _unknown(name: str, kind: np.dtype, count: int) -> np.ndarray:
    """A column of evidence of which nothing is known."""
    if kind.kind == "f":
        return np.full(count, np.nan, kind)
    return np.full(count, 0 if row_evidence(name) is None else -1, kind)


def _grown(knowledge: Knowledge, side: int, found: Found, standing: Standing, new: Cloud) -> KnownSide:
    """The side of the new rows with what is known of each of them."""
    known = knowledge.sides[side]
    count = len(new)
    rivals, scores = _lists(standing, side, new=True)
    rivals = np.where(rivals >= 0, standing.others[np.maximum(rivals, 0)], -1)
    crowded = (crowding(new.block(0, count), known.backdrop) - known.crowding_scale[0]) / known.crowding_scale[1]
    whole = None if knowledge.whole is None else knowledge.whole[side]
    return replace(
        known,
        rows=np.concatenate([known.rows, known.size + new.rows]),
        fold=np.concatenate([known.fold, np.full(count, -1, np.int8)]),
        density=np.concatenate([known.density, found.density[:, : known.density.shape[1]]]),
        crowding=np.concatenate([known.crowding, crowded.astype(np.float32)]),
        rivals=np.concatenate([known.rivals, rivals.astype(np.int32)]),
        rival_scores=np.concatenate([known.rival_scores, scores]),
        scales=np.concatenate([known.scales, scales_of(new, whole)]),
        marks=np.concatenate([known.marks, marks_of(new.collection)]) if len(known.marks) else known.marks,
    )


def _with_rivals(knowledge: Knowledge, side: int, standing: Standing) -> KnownSide:
    """The other side: rows that new ones come near have other rivals, and are more crowded."""
    known = knowledge.sides[1 - side]
    rivals, scores = _lists(standing, side, new=False)
    n_own = len(knowledge.sides[side])
    places = np.concatenate([n_own + np.arange(standing.new), standing.own])
    rivals = np.where(rivals >= 0, places[np.maximum(rivals, 0)], -1)
    all_rivals, all_scores, density = known.rivals.copy(), known.rival_scores.copy(), known.density.copy()
    all_rivals[standing.others] = rivals
    all_scores[standing.others] = scores
    density[standing.others] += standing.lift[:, None]
    return replace(known, rivals=all_rivals, rival_scores=all_scores, density=density)


def _lists(standing: Standing, side: int, *, new: bool) -> tuple[np.ndarray, np.ndarray]:
    """The best partners of the new rows, or of the other side's rows, as rows of the candidates: (n, 3), and scores."""
    candidates = standing.candidates
    of_a = new == (side == 0)
    best = candidates.best_a if of_a else candidates.best_b
    partner = candidates.rows_b if of_a else candidates.rows_a
    best = best[: standing.new] if new else best
    assert best.shape[1] == BEST_LISTED
    return np.where(best >= 0, partner[best], -1), candidates.scores(best).astype(np.float32)
