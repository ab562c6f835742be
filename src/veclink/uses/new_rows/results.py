"""Judged pairs of new rows as `Links`."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from veclink.confidence.constants import CALIBRATION_VERSION, MUTUAL_SHARE
from veclink.confidence.threshold import best_threshold, false_discovery_inflation
from veclink.data.judged import judged_anew, summary_of_first
from veclink.data.links import Links
from veclink.data.pairs import lookup
from veclink.data.summary import Summary
from veclink.geometry.clouds import Cloud
from veclink.uses.new_rows.constants import CLEAR_LEAD, REFIT_GROWTH
from veclink.uses.new_rows.judging import Judged
from veclink.uses.new_rows.knowledge import Account, Knowledge

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
    surer = judged.probability > _probability_so_far(every, 1 - side, partner)
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
        evidence={**judged.evidence, "displaces": _linked_so_far(known, 1 - side, partner)},
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


def _probability_so_far(known: Links, side: int, rows: np.ndarray) -> np.ndarray:
    """How probable the known pairs of these rows (p,) of one side are; 0 where there is none."""
    place = _places(known, side, rows)
    return np.append(known.probability, 0.0)[place]


def _linked_so_far(known: Links, side: int, rows: np.ndarray) -> np.ndarray:
    """The rows that these rows (p,) of one side are linked with; −1 where there is none."""
    place = _places(known, side, rows)
    return np.append(known.pairs[:, 1 - side], -1)[place]


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
