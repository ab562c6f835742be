"""Whether to believe a result: a verdict and its reasons."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veclink.data.summary import DOUBTFUL, LINKABLE, NOT_LINKABLE
from veclink.data.words import ENOUGH_FOR_HARD_DATA, FROM_NOTHING, USUALLY_ENOUGH, Reason
from veclink.linkers.anchors import Anchors
from veclink.linkers.geh import AGREED, DISPUTED
from veclink.linkers.span.constants import (
    CLEAR_OVERLAP_FACTOR,
    LOW_DIM_OVERLAP_FACTOR,
    MIN_BORNE_OUT,
    MIN_DIM_FOR_SEED_CHECK,
    MIN_OVERLAP_FRACTION,
    MIN_POOL,
    MIN_SEED_RECOVERY,
    MIN_SEEDS_TO_VOUCH,
    ROWS_SAID_TO_BE_FEW,
)
from veclink.linkers.span.starts import Bootstrap


@dataclass(frozen=True)
class Verdict:
    """One of "linkable", "doubtful" and "not linkable", and the reasons for it."""

    name: str
    why: tuple[Reason, ...]


@dataclass(frozen=True)
class SeedCheck:
    """How the given pairs fared."""

    given: int  # how many there were
    recovered: float | None  # share of them that are mutual candidates under maps fitted without them; None without any
    wrong: np.ndarray  # (w,) how sure it is of each that looks wrong that it is

    def why(self) -> list[Reason]:
        """What a person is told about them."""
        why = []
        if self.recovered is not None:
            why.append(Reason("seeds_found_again", found=round(self.recovered * self.given), given=self.given))
            if self.given >= USUALLY_ENOUGH and self.recovered < MIN_SEED_RECOVERY and not len(self.wrong):
                why.append(Reason("more_pairs_hardly_help"))
        if len(self.wrong):  # of anchors, which are no pairs of rows, none is given
            sure = round(float(self.wrong.mean()), 3)
            why.append(Reason("seeds_look_wrong", wrong=len(self.wrong), given=self.given, sure=sure))
        return why


def span_verdict(bootstrap: Bootstrap, overlap: float, *, smaller: int, dimension: int, seeds: SeedCheck) -> Verdict:
    """The verdict on calibrated links.

    Parameters
    ----------
    bootstrap : Bootstrap
        The pool that the maps were fitted to.
    overlap : float
        Estimated number of shared objects, by the probabilities alone.
    smaller : int
        Rows of the smaller cloud.
    dimension : int
        Of the smaller space: in few dimensions neighbours agree by chance.
    seeds : SeedCheck
        How the given pairs fared.
    """
    shared = overlap / smaller
    least = max(MIN_OVERLAP_FRACTION, LOW_DIM_OVERLAP_FACTOR / dimension)
    why = seeds.why()
    from_nothing = bootstrap.started_from == FROM_NOTHING
    borne_out = not from_nothing or shared >= MIN_BORNE_OUT * bootstrap.share
    if shared >= CLEAR_OVERLAP_FACTOR * least and borne_out:
        return Verdict(LINKABLE, tuple(why))
    if shared >= least and not borne_out:
        return Verdict(DOUBTFUL, (*why, Reason("more_proposed_than_shared")))
    # whether enough of the given pairs come out as links again to vouch for a small overlap
    vouched = seeds.given >= MIN_SEEDS_TO_VOUCH and (seeds.recovered or 0.0) >= MIN_SEED_RECOVERY
    if shared >= least or (vouched and dimension >= MIN_DIM_FOR_SEED_CHECK):
        return Verdict(DOUBTFUL, (*why, Reason("few_shared")))
    why.append(Reason("as_many_by_chance", overlap=overlap, share=shared))
    if from_nothing:  # where it grew from given pairs or anchors, more of them would change nothing
        why += [Reason("still_possible"), Reason("next", way=_way_from(seeds.given))]
    return Verdict(NOT_LINKABLE, tuple(why))


def _way_from(given: int, *, by_column: bool = False) -> str:
    """How to go on where nothing was found from so many given pairs; by_column: rows with equal values in a column."""
    if not given:
        return "nothing"
    if given >= ENOUGH_FOR_HARD_DATA:
        return "many pairs"
    return "pairs" if by_column or given >= USUALLY_ENOUGH else "few pairs"


def not_converged(bootstrap: Bootstrap, anchors: Anchors | None) -> Verdict:
    """The verdict where there is no pool to fit a map to. anchors: what was given."""
    rows = bootstrap.pool.extent
    if rows < MIN_POOL:
        return Verdict(NOT_LINKABLE, (Reason("too_few_rows", rows=rows, needed=MIN_POOL),))
    tried = Reason("starts_tried", ways=len(bootstrap.tried), best=max(share for _, share in bootstrap.tried))
    few = rows if rows < ROWS_SAID_TO_BE_FEW else None
    if anchors is None:
        also = () if few is None else (Reason("few_among_many", rows=few),)
        return Verdict(NOT_LINKABLE, (Reason("no_links_without_seeds"), tried, *also, Reason("next", way="nothing")))
    outside = anchors.outside
    way = "anchors" if outside else _way_from(len(anchors), by_column=anchors.by_column)
    also = () if few is None else (Reason("nothing_shared", outside=outside, also=True),)
    first = Reason("no_links_from_given", outside=outside, rows=few)
    return Verdict(NOT_LINKABLE, (first, *also, tried, Reason("next", way=way)))


def geh_verdict(confidence: np.ndarray, *, n_views: int, most_anchors: int, n_given: int) -> Verdict:
    """The verdict on GEH's links from two plain signs: did it grow, and did the views agree?

    Precision, recall and overlap are not estimated: θ is a share of votes, which runs above the precision when the
    overlap is small.

    Parameters
    ----------
    confidence : ndarray of shape (n,)
        Posterior θ of the links beyond the given pairs.
    n_views : int
        Views in all.
    most_anchors : int
        The most anchors that a view of any iteration held.
    n_given : int
        Pairs that were given.
    """
    if not len(confidence):
        return Verdict(NOT_LINKABLE, (Reason("nothing_beyond_given", given=n_given),))
    if most_anchors <= n_given:
        return Verdict(DOUBTFUL, (Reason("nothing_confirms", given=n_given, new=len(confidence)),))
    agreement = float(confidence.mean())
    why = (Reason("views_agree", agreement=agreement, views=n_views, agreed=AGREED, disputed=DISPUTED),)
    if agreement >= AGREED:
        return Verdict(LINKABLE, why)
    return Verdict(DOUBTFUL if agreement >= DISPUTED else NOT_LINKABLE, why)
