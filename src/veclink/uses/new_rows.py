"""New rows of collections that were linked before: found in one pass, judged by the model of the fit, and taken in.

A new row stands among the rows that are known: its partner may have a better partner already, or may leave one for it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from veclink.backends import CloudPair
from veclink.confidence.candidates import Candidates, candidate_pairs, scored_candidates
from veclink.confidence.constants import BEST_LISTED, CALIBRATION_VERSION, MUTUAL_SHARE
from veclink.confidence.evidence import (
    evidence_columns,
    feature_matrix,
    model_evidence,
    neighbourhood_evidence,
    neighbourhood_features,
    score_evidence,
)
from veclink.confidence.intervals import best_threshold, caution_of
from veclink.confidence.logistic import logit, sigmoid
from veclink.data.links import Links
from veclink.data.links_files import row_evidence
from veclink.data.pairs import lookup
from veclink.data.summary import Summary, judged_anew, summary_of_first
from veclink.data.words import Reason, plain_reasons, read_reasons
from veclink.errors import InputError
from veclink.geometry.arrays import tiles
from veclink.geometry.clouds import Cloud
from veclink.geometry.nearest import SAME, largest, largest_values
from veclink.geometry.signatures import unit_rows
from veclink.matching.cpu import Kept, cut, keep_by_row
from veclink.threads import multiply, share
from veclink.uses.known_rows import BLOCK, SIDES, Knowledge, KnownSide, Part, marks_of, scales_of, source_rows

OTHERS = 2048  # rows of a large side in one product; threads share four of them
_OF_THE_FIT = re.compile(r"(?:rival|near\d+|rank)_.*")
"""Evidence that a fit has and new rows have not: rivals, ranks and the nearest links."""

T = TypeVar("T")
Found = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Pairs that are worth a score: the new row of each (c,), its partner as a place among the known rows of the other side
(c,), and their cosine under each map (c, f); then the mean similarity of each new row to its nearest rows of the other
side under each map (m, f)."""


class Standing(NamedTuple):
    """New rows among known ones."""

    candidates: Candidates  # of the new rows, and of the known rows that compete with them
    own: np.ndarray  # (r,) known rows of the new rows' side, which follow the m new rows in the candidates
    others: np.ndarray  # (s,) known rows of the other side in the candidates
    lift: np.ndarray  # (s,) by how much the density of each of the others rises by the new rows
    density: np.ndarray  # (m, f) of `Found`


@dataclass(frozen=True, eq=False)
class Judged:
    """New rows of one side, and their pairs that are mutual nearest neighbours, the surest first."""

    new: Cloud  # (m rows) those that are no copies of known ones
    other: Cloud  # the rows of the other side
    rows: np.ndarray  # (p,) new rows
    places: np.ndarray  # (p,) places among the known rows of the other side
    probability: np.ndarray  # (p,) float64
    lead: np.ndarray  # (p,) how far it scores above the best other partner of its row of the other side
    evidence: dict[str, np.ndarray]  # columns (p,) that explain the pairs
    standing: Standing
    account: dict[str, Any]  # of `Part`


def without_copies(new: Cloud, knowledge: Knowledge, side: int) -> Cloud:
    """The new rows of one side but those that are equal to a row that the side has already.

    Up to rounding they are compared with the rows that the linker keeps, and by their marks with all rows.
    """
    kept = np.concatenate([knowledge.sides[side].backdrop, knowledge.vectors[side]])
    near = multiply(new.block(0, len(new)), unit_rows(kept).T)  # rounding changed their lengths
    is_copy = near.max(axis=1, initial=-1.0) >= 1 - SAME
    is_copy |= np.isin(marks_of(new.collection)[new.rows], knowledge.sides[side].marks)
    return Cloud(new.collection, new.rows[~is_copy], new.mean)


def signatures_of(knowledge: Knowledge, side: int, cloud: Cloud) -> list[np.ndarray]:
    """The rows of one side (n, r) under the map of each fold, of unit length; none where one map is searched along."""
    if knowledge.whole is not None:
        return []
    return [
        np.concatenate([unit_rows(multiply(cloud.block(*tile), maps[side])) for tile in tiles(len(cloud), BLOCK)])
        for maps in knowledge.maps
    ]


def judge(knowledge: Knowledge, side: int, entered: Cloud, other: Cloud, signatures: list[np.ndarray]) -> Judged:
    """Find the partners of new rows of one side, and how probable they are.

    other, signatures: the rows of the other side, and what `signatures_of` makes of them.
    """
    if tuple(entry.name for entry in model_evidence()) != knowledge.model.features:
        raise InputError("The linker was fitted by a version that looked at other evidence; fit it again.")
    new = without_copies(entered, knowledge, side)
    vectors = new.block(0, len(new))
    if not len(new):  # all of them may be copies of known rows
        nothing, none = np.empty((0, len(knowledge.maps)), np.float32), np.empty(0, np.int64)
        found: Found = none, none, nothing, nothing
    elif knowledge.whole is None:
        found = _under_each_map(knowledge, side, vectors, signatures)
    else:
        found = _under_one_map(knowledge, side, vectors, other)
    standing, clouds, pool = _stand(knowledge, side, vectors, found, other)
    candidates = standing.candidates
    own_rows, other_rows = _turned(side, candidates.rows_a, candidates.rows_b)
    best_of_other = candidates.best_a if side else candidates.best_b
    mutual = candidates.mutual()
    mutual = mutual[own_rows[mutual] < len(new)]
    rng = np.random.default_rng(0)  # nothing is drawn: crowding is known
    near = neighbourhood_features(clouds, candidates, pool, rng, np.empty(0, np.int64))
    model, before = knowledge.model, knowledge.shared_share(side)
    features = feature_matrix(candidate_pairs(candidates, near, mutual))
    log_odds = model.base + ((features - model.centre) / model.scale) @ model.weights
    probability, shared = with_prior(log_odds, before, len(new))
    order = np.argsort(-probability, kind="stable")
    mutual = mutual[order]
    copies, every = len(entered) - len(new), len(new.collection)
    zero, why = every - len(entered), []
    if copies:
        why.append(Reason("new_copies", copies=copies, rows=every))
    if zero:
        why.append(Reason("new_zero_rows", zero=zero, rows=every))
    if len(new):
        why.append(Reason("new_partners", rows=len(new), share=shared, before=before))
    return Judged(
        new=new,
        other=other,
        rows=own_rows[mutual],
        places=standing.others[other_rows[mutual]],
        probability=probability[order],
        lead=candidates.score[mutual] - candidates.scores(best_of_other[other_rows[mutual], 1]),
        evidence=evidence_columns((*score_evidence(), *neighbourhood_evidence()), candidates, near, mutual),
        standing=standing,
        account={"overlap": shared * len(new), "copies": copies, **plain_reasons(why)},
    )


def with_prior(log_odds: np.ndarray, share: float, n: int) -> tuple[np.ndarray, float]:
    """Probabilities (p,) of the pairs of n new rows, and the share of those rows that has a partner.

    The log odds hold for rows of which `share` have a partner. How many of the new ones have is estimated from the
    batch (expectation–maximisation), with `share` counting for ten rows: of one row it is `share`, of many it is what
    they say. Thirty were tried first and held the estimate back: of 100 new rows, 70 shared, 59 seemed to be (reddit,
    minilm–mpnet).
    """
    shared, prior = share, 10
    probability = sigmoid(log_odds)
    for _ in range(100):
        expected = probability.sum() / MUTUAL_SHARE + prior * share
        fresh = float(np.clip(expected / (n + prior), 0.02, 0.98))
        shared, moved = fresh, abs(fresh - shared)
        probability = sigmoid(log_odds + float(logit(shared)) - float(logit(share)))
        if moved < 1e-4:
            break
    return probability, shared


def _under_each_map(knowledge: Knowledge, side: int, new: np.ndarray, signatures: list[np.ndarray]) -> Found:
    """All rows of the other side, compared with new ones (m, d) under every map."""
    known = knowledge.sides[1 - side]
    queries = [unit_rows(new @ maps[side]) for maps in knowledge.maps]
    density = np.empty((len(new), len(queries)), np.float32)
    keys = []
    for fold, (query, signature) in enumerate(zip(queries, signatures, strict=True)):
        for start, stop in tiles(len(new), BLOCK):
            cosine = multiply(query[start:stop], signature.T)
            density[start:stop, fold] = largest_values(cosine, knowledge.k).mean(axis=1)
            csls = 2 * cosine - known.density[:, fold]
            best = largest(csls, min(BEST_LISTED, csls.shape[1]))
            keys.append((np.arange(start, stop)[:, None] * len(known) + best).ravel())
    rows, places = np.divmod(np.unique(np.concatenate(keys)), len(known))
    sides = zip(queries, signatures, strict=True)
    cosines = [np.einsum("ij,ij->i", query[rows], signature[places]) for query, signature in sides]
    return rows, places, np.stack(cosines, axis=1), density


def _under_one_map(knowledge: Knowledge, side: int, new: np.ndarray, other: Cloud) -> Found:
    """One pass over the rows of a large side as they are stored; what it lists is scored under the other maps."""
    known = knowledge.sides[1 - side]
    listed = [
        _nearest(_pulled_back(knowledge, side, new[start:stop]), known.scales, other)
        for start, stop in tiles(len(new), BLOCK)
    ]
    cosine, place = (np.concatenate(each) for each in zip(*listed, strict=True))
    near = largest_values(cosine, knowledge.k).mean(axis=1)
    csls = 2 * cosine - known.density[place, 0]
    best = largest(csls, min(2 * BEST_LISTED, csls.shape[1]))
    rows = np.repeat(np.arange(len(new)), best.shape[1])
    places = np.take_along_axis(place, best, axis=1).ravel().astype(np.int64)
    cosines = np.empty((len(rows), len(knowledge.maps)), np.float32)
    for start, stop in tiles(len(rows), BLOCK):
        left, right = new[rows[start:stop]], other.take(places[start:stop])
        for fold, maps in enumerate(knowledge.maps):
            query, signature = unit_rows(left @ maps[side]), unit_rows(right @ maps[1 - side])
            cosines[start:stop, fold] = np.einsum("ij,ij->i", query, signature)
    return rows, places, cosines, np.repeat(near[:, None], len(knowledge.maps), axis=1)


def _pulled_back(knowledge: Knowledge, side: int, new: np.ndarray) -> np.ndarray:
    """Queries (m, d + 1) whose products with scaled stored rows and −1/(c·s) are cosines of signatures.

    With P and Q the two projections, cos = ⟨uP/|uP|, vQ/|vQ|⟩ = ⟨(uP/|uP|)Qᵀ, v⟩/|vQ|, and v = (x/|x| − mean)/c. So no
    row of the large side is projected: what it takes beside the product is one multiplication of each row.
    """
    assert knowledge.whole is not None  # large collections have one map to search along
    pulled = unit_rows(new @ knowledge.whole[side]) @ knowledge.whole[1 - side].T
    return np.column_stack([pulled, pulled @ knowledge.sides[1 - side].mean]).astype(np.float32)


def _nearest(queries: np.ndarray, scales: np.ndarray, other: Cloud) -> tuple[np.ndarray, np.ndarray]:
    """The 64 largest cosines of each query, and the places of those rows: (m, 64) each, in no order."""
    n, m, width = len(other), len(queries), min(64, len(other))
    # A row length that is a multiple of the page would put every row of the tile in the same few cache sets. A tile cut
    # into four, or one as wide as four, costs 5 to 8 % more.
    spaces = np.empty((4, m, OTHERS + 16), np.float32)
    scaled = np.empty((len(spaces) * OTHERS, queries.shape[1]), np.float32)
    room = m, 2 * width + 16
    value, place = np.full(room, -np.inf, np.float32), np.zeros(room, np.int32)
    kept = Kept(width, value, place, np.zeros(m, np.int64), np.full(m, -np.inf, np.float32))
    for start, stop in tiles(n, len(scaled)):
        rows = scaled[: stop - start]
        np.multiply(source_rows(other, start, stop), scales[start:stop, :1], out=rows[:, :-1])
        rows[:, -1] = -scales[start:stop, 1]

        def product(first: int, last: int, rows: np.ndarray = rows) -> None:
            """The products with one tile of the rows, into the space of that tile."""
            np.matmul(queries, rows[first:last].T, out=spaces[first // OTHERS, :, : last - first])

        share(product, len(rows), step=OTHERS)
        for space, (begin, end) in zip(spaces, tiles(len(rows), OTHERS), strict=False):
            share(partial(keep_by_row, space, end - begin, start + begin, kept), m)
    share(partial(cut, kept), m)
    return value[:, :width], place[:, :width]


class _NewClouds(CloudPair):
    """The new rows and the links around them as two small clouds; how crowded their places are is known."""

    crowding: tuple[np.ndarray, np.ndarray]

    def own_density(self, side: str, rng: np.random.Generator) -> np.ndarray:
        """What was measured in the whole clouds."""
        return self.crowding[SIDES.index(side)]


def _stand(
    knowledge: Knowledge, side: int, new: np.ndarray, found: Found, other: Cloud
) -> tuple[Standing, CloudPair, np.ndarray]:
    """The pairs found for new rows (m, d), and those of the known rows that compete with them, as candidates.

    Then two clouds of the candidates' rows, followed by those of the nearby links, and these links as pairs of rows.
    """
    known, mine = knowledge.sides[1 - side], knowledge.sides[side]
    rows, places, cosine, density = found
    others, at = np.unique(places, return_inverse=True)
    # by how much the densities of the others rise by new rows that are nearer than their nearest were: (s, f)
    lift = np.zeros((len(others), cosine.shape[1]), np.float32)
    np.add.at(lift, at, np.maximum(cosine - known.density[places], 0) / knowledge.k)
    # (s, f) of 0 and 1: the maps that the others had no part in
    fold = known.fold[others][:, None]
    free = ((fold == np.arange(lift.shape[1])) | (fold < 0)).astype(np.float32)
    csls = 2 * cosine - density[rows] - (known.density[places] + lift[at])
    score = (free[at] * csls).sum(axis=1) / free[at].sum(axis=1)
    lifted = (lift * free).sum(axis=1) / free.sum(axis=1)
    rivals = known.rivals[others]
    old_at = np.nonzero(rivals >= 0)[0]
    own, own_at = np.unique(rivals[rivals >= 0], return_inverse=True)
    scores = np.concatenate([score, known.rival_scores[others][rivals >= 0] - lifted[old_at]]).astype(np.float32)
    # the vectors; known rivals have none here: nothing of their neighbourhoods is looked at
    own_rows, own_places = _joined(own, knowledge.nearby[:, side])
    other_rows, other_places = _joined(others, knowledge.nearby[:, 1 - side])
    own_vectors = np.zeros((len(new) + len(own_rows), new.shape[1]), np.float32)
    own_vectors[: len(new)] = new
    own_vectors[len(new) + own_places] = knowledge.vectors[side]
    other_vectors = np.empty((len(other_rows), other.shape[1]), np.float32)
    other_vectors[other_places] = knowledge.vectors[1 - side]
    other_vectors[: len(others)] = other.take(others)
    clouds = _NewClouds(*_turned(side, own_vectors, other_vectors), k=knowledge.k)
    crowded = np.concatenate([mine.crowded(new), mine.crowding[own_rows]])
    clouds.crowding = _turned(side, crowded, known.crowding[other_rows])
    rows_a, rows_b = _turned(side, np.concatenate([rows, len(new) + own_at]), np.concatenate([at, old_at]))
    order = np.lexsort((rows_b, rows_a))
    of_own = np.concatenate([density.mean(axis=1), mine.density[own].mean(axis=1)])
    densities = _turned(side, of_own, known.density[others].mean(axis=1) + lifted)
    candidates = scored_candidates(clouds, rows_a[order], rows_b[order], scores[order], [densities])
    standing = Standing(candidates, own.astype(np.int64), others, lifted.astype(np.float32), density)
    return standing, clouds, np.column_stack(_turned(side, len(new) + own_places, other_places))


def _joined(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows of a first list (n,), ascending, then the others of a second (m,); and where the second ones are."""
    place = lookup(first, second)
    known = place >= 0
    return np.concatenate([first, second[~known]]), np.where(known, place, len(first) + np.cumsum(~known) - 1)


def as_links(known: Links, knowledge: Knowledge, side: int, judged: Judged) -> Links:
    """The links of new rows of one side (0 for A, 1 for B), beside the known links of a linker.

    They end where the expected F1 of the links that are known and of these together is largest: one new row is kept or
    not by the same probability as any other. A row of the other side that was linked before goes to the new row if
    that pair is the more probable one, or a link itself and clearly ahead: a copy of a row that is known takes nothing
    away, and neither does a pair that is too improbable to be a link.
    """
    account, every = judged.account, known.considered
    partner = judged.other.rows[judged.places]
    surer = judged.probability > np.append(every.probability, 0.0)[_places(every, 1 - side, partner)]
    # a copy of a known row scores like that row; chosen on copies of linked rows of the sample
    ahead = judged.lead > 0.02
    together = np.concatenate([every.probability, judged.probability[surer | ahead]])
    least = _lowest_kept(together, (known.summary.overlap or 0.0) + account["overlap"])
    # Pairs below the least that are left out now do not move it: the best F1 ends before them.
    stays = surer | (ahead & (judged.probability >= least))
    probability, partner, rows = judged.probability[stays], partner[stays], judged.new.rows[judged.rows[stays]]
    evidence = {name: column[stays] for name, column in judged.evidence.items()}
    evidence["displaces"] = np.append(known.pairs[:, side], -1)[_places(known, 1 - side, partner)]
    new, other = judged.new.collection, judged.other.collection
    n_a, n_b = _turned(side, len(new), knowledge.sides[1 - side].size)
    summary = Summary(
        method=known.summary.method,
        n_a=n_a,
        n_b=n_b,
        n_links=len(rows),
        verdict=known.summary.verdict,
        why=read_reasons(account),
        copies=_turned(side, account["copies"], 0),
        caution=caution_of(float(every.probability.sum() + probability.sum())),
        calibration=CALIBRATION_VERSION,
    )
    pairs, ids = np.column_stack(_turned(side, rows, partner)), _turned(side, new.ids_at(rows), other.ids_at(partner))
    considered = Links(pairs, probability, summary, evidence, *ids, options=known.options)
    return _down_to(considered, least, account["overlap"])


def _turned(side: int, own: T, other: T) -> tuple[T, T]:
    """What is of the side of the new rows and of the other one, A's first; or what is of A and of B, their own first.
    """
    return (other, own) if side else (own, other)


def _places(known: Links, side: int, rows: np.ndarray) -> np.ndarray:
    """Where the pairs of these rows (p,) of one side stand among the known ones; −1 where there is none."""
    order = np.argsort(known.pairs[:, side], kind="stable")
    return np.append(order, -1)[lookup(known.pairs[order, side], rows)]


def _lowest_kept(probability: np.ndarray, overlap: float) -> float:
    """The probability down to which pairs are links, of all these together."""
    every = np.sort(probability)[::-1]
    return float(every[best_threshold(every, overlap) - 1]) if len(every) else 1.0


def _down_to(considered: Links, least: float, overlap: float) -> Links:
    """The judged pairs that are at least so probable as links, with their estimates."""
    kept = slice(int((considered.probability >= least).sum()))
    about = replace(considered.summary, overlap=overlap, overlap_range=None, seconds=None)
    return considered.told(judged_anew(summary_of_first(about, considered.probability[kept])))


def of_batch(links: Links, knowledge: Knowledge, side: int, rows: slice) -> Links:
    """The links of the rows of one side that came together, as links of that batch.

    Nothing else is said of them than what the linker holds: a run that is repeated writes the same file.
    """
    every = links.considered
    column = every.pairs[:, side]
    inside = (column >= rows.start) & (column < rows.stop)
    size = rows.stop - rows.start
    account = next((part.account for part, place in knowledge.sides[side].batches() if place == rows), None)
    if account is None:  # all rows were linked again since
        overlap = min(float(every.probability[inside].sum()) / MUTUAL_SHARE, size)
        reason = Reason("new_partners", rows=size, share=overlap / size, before=knowledge.shared_share(side))
        account = {"overlap": overlap, "copies": 0, **plain_reasons([reason])}
    n_a, n_b = _turned(side, size, every.summary.n_a if side else every.summary.n_b)
    summary = replace(
        every.summary,
        n_a=n_a,
        n_b=n_b,
        n_links=int(inside.sum()),
        why=read_reasons(account),
        vectors=None,
        found=None,
        wrong_seeds=(),
        contradicting_seeds=(),
        copies=_turned(side, account["copies"], 0),
    )
    chosen = {name: values[inside] for name, values in every.evidence.items() if not _OF_THE_FIT.fullmatch(name)}
    pairs = every.pairs[inside] - _turned(side, rows.start, 0)
    considered = every.some(inside, summary, pairs=pairs, evidence=chosen, trace={})
    return _down_to(considered, links.probability[-1] if len(links) else 1.0, account["overlap"])


def taken_in(links: Links, knowledge: Knowledge, side: int, judged: Judged) -> tuple[Links, Knowledge]:
    """Links and knowledge once the new rows of one side are known rows."""
    fresh = as_links(links, knowledge, side, judged)
    sides = _turned(side, _grown(knowledge, side, judged), _with_rivals(knowledge, side, judged))
    return _joined_links(links, fresh, side, knowledge.sides[side].size), replace(knowledge, sides=sides)


def _joined_links(links: Links, fresh: Links, side: int, start: int) -> Links:
    """The known links and those of the new rows; pairs whose row has found a better partner are left out.

    start: the row of its side that the first of the new rows becomes.
    """
    before, after = links.considered, fresh.considered
    stays = ~np.isin(before.pairs[:, 1 - side], after.pairs[:, 1 - side])
    kinds = after.evidence | before.evidence

    def values(part: Links, name: str) -> np.ndarray:
        """A column of evidence, empty where there is none."""
        kind = kinds[name].dtype
        nothing = np.nan if kind.kind == "f" else 0 if row_evidence(name) is None else -1
        return part.evidence.get(name, np.full(len(part), nothing, kind))

    evidence = {
        name: np.concatenate([values(before, name)[stays], values(after, name)])
        for name in before.evidence | after.evidence
    }
    ids_a, ids_b = (
        None if old is None or new is None else np.concatenate([old[stays], new])
        for old, new in ((before.ids_a, after.ids_a), (before.ids_b, after.ids_b))
    )
    overlap = (links.summary.overlap or 0.0) + (fresh.summary.overlap or 0.0)
    probability = np.concatenate([before.probability[stays], after.probability])
    pairs = np.concatenate([before.pairs[stays], after.pairs + _turned(side, start, 0)])
    sizes = [links.summary.n_a, links.summary.n_b]
    sizes[side] = start + (fresh.summary.n_a, fresh.summary.n_b)[side]
    summary = replace(links.summary, n_links=len(pairs), n_a=sizes[0], n_b=sizes[1], vectors=None)
    considered = Links(pairs, probability, summary, evidence, ids_a, ids_b, options=links.options, trace=links.trace)
    return _down_to(considered, _lowest_kept(probability, overlap), overlap)


def _grown(knowledge: Knowledge, side: int, judged: Judged) -> KnownSide:
    """The side of the new rows with what is known of each of them."""
    known, new, standing = knowledge.sides[side], judged.new, judged.standing
    rivals, scores = _lists(standing, side, len(new))
    more = {
        "rows": known.size + new.rows,
        "fold": np.full(len(new), -1, np.int8),
        "density": standing.density[:, : known.density.shape[1]],
        "crowding": known.crowded(new.block(0, len(new))).astype(np.float32),
        "rivals": np.where(rivals >= 0, standing.others[np.maximum(rivals, 0)], -1).astype(np.int32),
        "rival_scores": scores,
        "scales": scales_of(new, None if knowledge.whole is None else knowledge.whole[side]),
        "marks": marks_of(new.collection) if len(known.marks) else known.marks,
    }
    arrays = {name: np.concatenate([getattr(known, name), values]) for name, values in more.items()}
    return replace(known, parts=(*known.parts, Part.of(new.collection, judged.account)), **arrays)


def _with_rivals(knowledge: Knowledge, side: int, judged: Judged) -> KnownSide:
    """The other side: rows that new ones come near have other rivals, and are more crowded."""
    known, standing = knowledge.sides[1 - side], judged.standing
    rivals, scores = _lists(standing, 1 - side, len(standing.others))
    places = np.concatenate([len(knowledge.sides[side]) + np.arange(len(judged.new)), standing.own])
    all_rivals, all_scores, density = known.rivals.copy(), known.rival_scores.copy(), known.density.copy()
    all_rivals[standing.others] = np.where(rivals >= 0, places[np.maximum(rivals, 0)], -1)
    all_scores[standing.others] = scores
    density[standing.others] += standing.lift[:, None]
    return replace(known, rivals=all_rivals, rival_scores=all_scores, density=density)


def _lists(standing: Standing, side: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The best partners of the first rows of a side, as rows of the candidates: (count, BEST_LISTED), and their scores.
    """
    candidates = standing.candidates
    best = (candidates.best_a, candidates.best_b)[side][:count]
    partner = (candidates.rows_b, candidates.rows_a)[side]
    return np.where(best >= 0, partner[best], -1), candidates.scores(best).astype(np.float32)
