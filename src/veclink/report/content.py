"""What a report shows of links, as plain data: `templates` have the words and the HTML, `assets` the charts."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, NamedTuple

import numpy as np

from veclink.confidence import evidence as registry
from veclink.confidence.constants import NORMAL_90
from veclink.confidence.explanations import SURE, in_words, typical
from veclink.confidence.intervals import estimate, estimates
from veclink.data.collection import Collection
from veclink.data.links import Links
from veclink.data.pairs import pair_keys, score
from veclink.data.summary import LINKABLE
from veclink.data.words import Names, clipped, names
from veclink.geometry.clouds import prepare
from veclink.geometry.signatures import JOINED_RULES, joined_projections, unit_rows
from veclink.report.words import SAID_ELSEWHERE, advice, headline

CLOSE = 0.05  # a rival whose csls is at most so much lower is a close call
SHOWN = 12  # close calls and hubs
SIMILARITIES = ("rival_a_score", "rival_b_score", "near1_similarity", "near2_similarity", "near3_similarity")
OTHERS = ("rival_{}", "near1_{}", "near2_{}", "near3_{}")  # columns of rows on either side


@dataclass(frozen=True)
class Example:
    """A pair to check by eye: "sure", "doubtful" or "left out", its rank among the candidates, the case against it."""

    kind: str
    rank: int
    title_a: str
    title_b: str
    probability: float
    doubt: str
    right: bool | None  # whether the truth has it, where the truth is known


class Mapped(NamedTuple):
    """Points on the map: the first `len(ranks)` rows of either side are the two ends of links, the rest is unlinked."""

    ranks: np.ndarray  # of those links
    rows: list[np.ndarray]  # of A and of B
    places: list[np.ndarray]  # (n, 2) from 0 to 1: of A's rows, of B's, of the linked objects as both models see them
    unlinked: list[int]  # how many rows of either side have no link, on the map or not


def gather(
    links: Links, a: Collection | None, b: Collection | None, *, truth: np.ndarray | None = None
) -> dict[str, Any]:
    """All that the report of `links` shows, by the names that `report.html` has for it."""
    summary, source, found = links.summary, links.considered, estimate(links)
    n, sides = len(source), {"a": a, "b": b}
    most = 120_000  # pairs with all their evidence; of more, those nearest to the threshold
    first = min(max(len(links) - most // 2, 0), max(n - most, 0))
    listed = np.arange(first, min(n, first + most))
    mapped = map_links(links, a, b)
    hubs = {side: np.array(links.trace.get("hubs", {}).get(side, []), np.int64).reshape(-1, 2) for side in "ab"}
    called: dict[str, Names] = {}
    for column, (side, other) in enumerate((("a", "b"), ("b", "a"))):
        rows = [source.evidence[name][listed] for each in OTHERS if (name := each.format(side)) in source.evidence]
        rows += [source.pairs[listed, column], hubs[side][:, 0]] + ([] if mapped is None else [mapped.rows[column]])
        rows.append(links.pairs[np.isin(links.pairs[:, 1 - column], hubs[other][:, 0]), column])
        called[side] = names(np.concatenate(rows), sides[side], known_ids(source, side))
    close_calls, n_close = _close_calls(links, called)
    agreement, told = summary.agreement, [str(each) for each in summary.why if each.code not in SAID_ELSEWHERE]
    head, sentence = headline(links, found)
    if agreement is not None and (agreement.fits or summary.verdict == "not linkable"):  # else the head says it
        told.insert(0, agreement.sentence)
    counts, _ = np.histogram(source.probability, 10, (0.0, 1.0))
    decoys = links.trace.get("decoys")  # as many as wrong pairs are expected, by probability
    wrong = np.array(decoys["probability"]).reshape(10, -1).sum(axis=1).tolist() if decoys else [None] * 10
    # a probability, how many pairs are at least as probable, and what is estimated of those
    surest = [(wanted, source.probability[source.probability >= wanted]) for wanted in (0.99, 0.95, 0.9, 0.8, 0.5, 0.2)]
    curve = [] if found is None else [(wanted, len(sure), estimates(sure, summary)) for wanted, sure in surest]
    # red would say that nothing is shared, and green that what is kept is right
    is_empty = summary.verdict == LINKABLE and not len(links)
    is_doubtful = summary.is_open or summary.verdict != summary.verdict_in_words or is_empty
    right = None if truth is None else _in_truth(source, truth)
    return {
        "links": links,
        "summary": summary,
        "trace": links.trace,
        "n": n,
        "n_listed": len(listed),
        "names": {s: s.upper() if each is None else clipped(PurePath(each.name).name) for s, each in sides.items()},
        "titled": all(each.titles is not None for each in called.values()),
        "look": "doubtful" if is_doubtful else summary.verdict,
        "head": head,
        "sentence": sentence,
        "reasons": told or ["No reasons were given."],
        "advice": advice(links, found, n_close),
        "estimates": found,
        "truth": None if truth is None else score(links.pairs, truth),
        "examples": examples(links, a, b, truth, sure=1, doubtful=2),
        "histogram": list(zip(np.arange(10) / 10, counts.tolist(), wrong, strict=True)),
        "curve": [each for each in curve if each[2] is not None],
        "map": mapped,
        "sure": SURE,
        "close": CLOSE,
        "close_calls": close_calls,
        "n_close": n_close,
        "hubs": _hubs(links, hubs, called),
        "score": registry.lookup("score"),
        "packed": _packed(links, source, listed, called, mapped, right),
    }


def examples(
    links: Links, a: Collection | None, b: Collection | None, truth: np.ndarray | None, *, sure: int, doubtful: int
) -> list[Example]:
    """So many sure and doubtful links, and the pair that came closest to being a link, the surest first."""
    source = links.considered
    chosen = typical(links, sure, doubtful)
    ranks = np.array([rank for _, rank in chosen], np.int64)
    right = None if truth is None else _in_truth(source, truth)
    titles, rivals = [], []
    for column, (side, collection) in enumerate((("a", a), ("b", b))):
        own = source.pairs[ranks, column]
        rival = source.evidence.get(f"rival_{side}", np.full(len(source), -1))[ranks]
        called = names(np.concatenate([own, rival]), collection, known_ids(source, side))
        titles.append([called.of(row) for row in own.tolist()])
        rivals.append([called.of(row) if row >= 0 else "" for row in rival.tolist()])
    return [
        Example(
            kind=kind,
            rank=rank,
            title_a=titles[0][i],
            title_b=titles[1][i],
            probability=float(source.probability[rank]),
            doubt="" if kind == "sure" else in_words(source, rank, rivals[0][i], rivals[1][i]),
            right=None if right is None else bool(right[rank]),
        )
        for i, (kind, rank) in enumerate(chosen)
    ]


def known_ids(links: Links, side: str) -> dict[int, str]:
    """The ids that links themselves carry, by row."""
    ids, column = (links.ids_a, 0) if side == "a" else (links.ids_b, 1)
    return {} if ids is None else dict(zip(links.pairs[:, column].tolist(), map(str, ids.tolist()), strict=True))


def _in_truth(links: Links, truth: np.ndarray) -> np.ndarray:
    n_b = links.summary.n_b
    return np.isin(pair_keys(links.pairs, n_b), pair_keys(np.asarray(truth).reshape(-1, 2), n_b))


def _close_calls(links: Links, called: dict[str, Names]) -> tuple[list[tuple[Any, ...]], int]:
    """Links whose runner-up comes close, (a, b, runner-up, its side, lead, probability), and how many there are."""
    column = links.evidence
    if "rival_a" not in column or not len(links):
        return [], 0
    gaps = [np.where(column[f"rival_{s}"] >= 0, column["score"] - column[f"rival_{s}_score"], np.inf) for s in "ab"]
    gap = np.where(column.get("given", np.zeros(len(links), bool)), np.inf, np.minimum(*gaps))
    close, told = np.flatnonzero(gap <= CLOSE), []
    for i in close[np.argsort(gap[close], kind="stable")][:SHOWN].tolist():
        side = "a" if gaps[0][i] <= gaps[1][i] else "b"
        ends = (called[end].of(row) for end, row in zip("ab", links.pairs[i].tolist(), strict=True))
        told.append((*ends, called[side].of(int(column[f"rival_{side}"][i])), side, gap[i], links.probability[i]))
    return told, len(close)


def _hubs(links: Links, hubs: dict[str, np.ndarray], called: dict[str, Names]) -> list[tuple[int, str, str, str]]:
    """Rows that many of the other collection prefer to all others: by how many, side, name, what it is linked with."""
    told = []
    for column, (side, other) in enumerate((("a", "b"), ("b", "a"))):
        for row, chosen in hubs[side].tolist():
            partners = links.pairs[links.pairs[:, column] == row, 1 - column].tolist()
            told.append((chosen, side, called[side].of(row), called[other].of(partners[0]) if partners else "nothing"))
    return sorted(told, key=lambda hub: (-hub[0], *hub[1:]))[:SHOWN]


def _packed(
    links: Links,
    source: Links,
    listed: np.ndarray,
    called: dict[str, Names],
    mapped: Mapped | None,
    right: np.ndarray | None,
) -> str:
    """The columns that the charts, the map and the table are drawn from, as `assets/data.js` reads them."""
    evidence = {name: values[listed] for name, values in source.evidence.items()}
    columns: dict[str, np.ndarray] = {
        "probability": np.rint(source.probability * 65535).astype(np.uint16),
        "rank": listed.astype(np.uint32),
        "given": evidence.get("given", np.zeros(len(listed), bool)).astype(np.uint8),
    }
    texts: dict[str, int] = {}  # each once: titles of the two collections are often the same
    for column, (side, own) in enumerate(called.items()):
        columns[side] = own.place(source.pairs[listed, column])
        columns |= {n: own.place(evidence[n]) for each in OTHERS if (n := each.format(side)) in evidence}
        if own.titles is not None:
            columns[f"title_{side}"] = np.array([texts.setdefault(each, len(texts)) for each in own.titles], np.uint32)
        if mapped is not None:
            columns[f"map_{side}"] = own.place(mapped.rows[column])
    numbers = {name: (evidence[name], 1e-4) for name in SIMILARITIES if name in evidence}
    for entry in registry.REGISTRY:  # all evidence, also what is no column of a links file
        values = entry.recorded(evidence)
        if values is not None:
            numbers[entry.name] = values, entry.resolution
    # in int16, what is out of range becomes the last in range, and what is no number -32768
    units = {name: np.clip(np.rint(values / step), -32767, 32767) for name, (values, step) in numbers.items()}
    columns |= {name: np.where(np.isfinite(each), each, -32768).astype(np.int16) for name, each in units.items()}
    columns |= {n: np.minimum(evidence[n], 65535).astype(np.uint16) for n in ("votes", "views") if n in evidence}
    if right is not None:
        columns["right"] = right[listed].astype(np.uint8)
    if len(listed) == len(source):
        columns["exact"] = source.probability  # what the button writes is what a file would hold
    if mapped is not None:
        columns["map_rank"] = mapped.ranks.astype(np.uint32)
        for end, places in zip(("a", "b", "both"), mapped.places, strict=True):
            at = np.rint(places * 65535).astype(np.uint16)
            columns |= {f"map_x_{end}": at[:, 0], f"map_y_{end}": at[:, 1]}
    summary, trace = links.summary, links.trace
    facts = {
        "kept": len(links),
        "overlap": summary.overlap,
        "estimated": summary.precision is not None,
        "caution": summary.caution,
        "shared": summary.overlap_range,
        "chance": NORMAL_90,
        "close": CLOSE,
        "sure": SURE,
        "unlinked": None if mapped is None else mapped.unlinked,
        "growth": trace.get("growth", []),
        "model": trace.get("model"),
        "labels": {entry.name: entry.label for entry in registry.REGISTRY},
        "told": {entry.name: registry.explained_with(entry.name) for entry in registry.REGISTRY},
        "decoys": trace.get("decoys"),
    }
    told = {"facts": facts, "texts": list(texts), "numbered": {side: own.numbered for side, own in called.items()}}
    told |= {f"ids_{side}": own.ids for side, own in called.items()}
    return pack(told, columns, {name: step for name, (_, step) in numbers.items()})


def pack(texts: dict[str, Any], columns: dict[str, np.ndarray], steps: dict[str, float]) -> str:
    """Base64 of the compressed texts and columns. steps: of columns of int16, for turning them back into numbers.

    Length of the JSON (4 bytes, little-endian), the JSON, which lists the columns by type, place and length, then the
    columns; zeros fill each up to a multiple of 8 bytes.
    """
    described, body = {}, bytearray()
    for name, values in columns.items():
        data = values.astype(values.dtype.newbyteorder("<")).tobytes()
        kind, factor = values.dtype.name, steps.get(name)
        described[name] = {"type": kind, "at": len(body), "length": len(values), "factor": factor}
        body += data + b"\0" * (-len(data) % 8)
    text = json.dumps({**texts, "columns": described}, ensure_ascii=False, separators=(",", ":")).encode()
    head = len(text).to_bytes(4, "little") + text
    return base64.b64encode(zlib.compress(head + b"\0" * (-len(head) % 8) + body, 7)).decode()


def map_links(links: Links, a: Collection | None, b: Collection | None) -> Mapped | None:
    """The map of the links and of some of what is not linked; None where too few links are there to make one.

    Links span a space that both models share. The map is drawn along the two principal axes of the linked objects in
    it, so the two ends of a right link lie close together: how far apart they are says how well the two models agree
    about the object.
    """
    likely = links.pairs[links.probability >= 0.5]
    if a is None or b is None or len(likely) < 12:
        return None
    fitted = likely[np.linspace(0, len(likely) - 1, min(len(likely), 2000)).round().astype(np.int64)]
    clouds = prepare(a, skip_zero=True), prepare(b, skip_zero=True)
    ends = [cloud.take(cloud.positions(fitted[:, column])) for column, cloud in enumerate(clouds)]
    into = joined_projections(ends[0], ends[1], rules=JOINED_RULES[:1])
    objects = unit_rows(unit_rows(ends[0] @ into[0]) + unit_rows(ends[1] @ into[1]))
    principal = np.linalg.eigh(objects.T @ objects)[1][:, :-3:-1]
    principal = principal * np.sign(principal.sum(axis=0) + 1e-12)  # eigenvectors have no sign of their own
    # Evenly over the ranking: the surest alone would look better than the result is.
    ranks = np.linspace(0, len(links) - 1, min(len(links), 2500)).round().astype(np.int64)
    rng = np.random.default_rng(0)
    rows, places, unlinked = [], [], []
    for column, cloud in enumerate(clouds):
        alone = np.setdiff1d(cloud.rows, links.pairs[:, column])  # zero vectors have no place
        rows.append(np.concatenate([links.pairs[ranks, column], np.sort(rng.permutation(alone)[:1500])]))
        places.append(unit_rows(cloud.take(cloud.positions(rows[column])) @ into[column]) @ principal)
        unlinked.append(len(cloud.collection) - len(np.unique(links.pairs[:, column])))
    places.append((places[0][: len(ranks)] + places[1][: len(ranks)]) / 2)
    every = np.concatenate(places)
    low, size = every.min(axis=0), np.maximum(np.ptp(every, axis=0), 1e-9)
    return Mapped(ranks, rows, [(each - low) / size for each in places], unlinked)
