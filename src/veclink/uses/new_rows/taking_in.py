"""Taking in: new rows become known rows, and their pairs links among the others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from veclink.confidence.constants import BEST_LISTED
from veclink.data.links import Links
from veclink.data.links_checks import row_evidence
from veclink.geometry.clouds import Cloud
from veclink.uses.new_rows.judging import Judged, Standing
from veclink.uses.new_rows.knowledge import Knowledge, KnownSide, Part, marks_of
from veclink.uses.new_rows.learning import crowding, scales_of
from veclink.uses.new_rows.results import account_of, as_links, first_of, lowest_kept
from veclink.uses.new_rows.searching import Found


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
    considered = Links(
        np.concatenate([before.pairs[stays], moved]),
        probability,
        replace(links.summary, n_links=len(probability), n_a=n_a, n_b=n_b, overlap=overlap, vectors=None),
        evidence=_joined_evidence(before, after, stays),
        ids_a=_joined_ids(before.ids_a, after.ids_a, stays),
        ids_b=_joined_ids(before.ids_b, after.ids_b, stays),
        options=links.options,
        trace=links.trace,
    )
    least = lowest_kept(before.probability[stays], after.probability, links, fresh.summary.overlap or 0.0)
    kept = int(np.count_nonzero(considered.probability >= least))
    return first_of(considered, kept, overlap)


def _joined_evidence(before: Links, after: Links, stays: np.ndarray) -> dict[str, np.ndarray]:
    """Columns of both; where one of them lacks a column, what says that nothing is known."""
    columns = {}
    for name in dict.fromkeys([*before.evidence, *after.evidence]):
        old, new = before.evidence.get(name), after.evidence.get(name)
        if old is None:
            assert new is not None
            old = _unknown(name, new.dtype, len(before))
        if new is None:
            new = _unknown(name, old.dtype, len(after))
        columns[name] = np.concatenate([old[stays], new])
    return columns


def _unknown(name: str, kind: np.dtype, count: int) -> np.ndarray:
    if kind.kind == "f":
        return np.full(count, np.nan, kind)
    return np.full(count, 0 if row_evidence(name) is None else -1, kind)


def _joined_ids(before: np.ndarray | None, after: np.ndarray | None, stays: np.ndarray) -> np.ndarray | None:
    if before is None or after is None:
        return None
    return np.concatenate([before[stays], after])


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
