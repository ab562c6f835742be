"""What a report holds: names, estimates, close calls and the columns that its charts and its table are drawn from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import numpy as np

from veclink.confidence import evidence as registry
from veclink.confidence.constants import SURER
from veclink.confidence.explanations import SURE
from veclink.confidence.intervals import Estimates, Spread, estimate
from veclink.data.collection import Collection
from veclink.data.links import Links
from veclink.data.scores import Scores, score
from veclink.data.titles import Names, clipped, names
from veclink.report.examples import Example, candidates, examples, in_truth, known_ids
from veclink.report.mapping import Mapped, map_links
from veclink.report.packing import pack, scaled

LISTED = 120_000  # links with all their evidence; of more, those nearest to the threshold
CLOSE = 0.05  # a rival whose csls is at most so much lower is a close call
SHOWN = 12
SURE_ONES, DOUBTFUL_ONES = 1, 2  # examples on the first screen
SIMILARITY_STEP = 1e-4  # in which scores of rivals and similarities of near links are kept
SIMILARITIES = ("rival_a_score", "rival_b_score", "near1_similarity", "near2_similarity", "near3_similarity")
ROWS_A = ("rival_a", "near1_a", "near2_a", "near3_a")
ROWS_B = ("rival_b", "near1_b", "near2_b", "near3_b")
COUNTS = ("votes", "views")


@dataclass(frozen=True)
class CloseCall:
    """A link whose runner-up comes close: the three names, which side the runner-up is on, and the gap in csls."""

    a: str
    b: str
    rival: str
    side: str
    margin: float
    probability: float


@dataclass(frozen=True)
class Hub:
    """A row that many of the other collection prefer to all others, and what it is linked with, if with anything."""

    name: str
    side: str
    chosen: int
    partner: str | None


@dataclass(frozen=True, eq=False)
class Content:
    """All that the page shows. source: every pair that the run considered, of which the links are the first."""

    links: Links
    source: Links
    name_a: str
    name_b: str
    estimates: Estimates | None
    truth: Scores | None
    close_calls: list[CloseCall]
    n_close: int
    hubs: list[Hub]
    examples: list[Example]
    n_listed: int
    mapped: Mapped | None
    titled: bool
    packed: str


def gather(links: Links, a: Collection | None, b: Collection | None, *, truth: np.ndarray | None = None) -> Content:
    """The content of the report of `links` between the collections a and b, as far as they are given."""
    source = candidates(links)
    listed = _listed(len(source), len(links))
    mapped = map_links(links, a, b)
    hubs = {side: np.array(links.trace.get("hubs", {}).get(side, []), np.int64).reshape(-1, 2) for side in "ab"}
    of_a, of_b = (
        names(_mentioned(source, listed, side, mapped, hubs[side]), collection, known_ids(source, side))
        for side, collection in (("a", a), ("b", b))
    )
    right = None if truth is None else in_truth(source, truth)
    calls, n_close = _close_calls(links, of_a, of_b)
    return Content(
        links=links,
        source=source,
        name_a="A" if a is None else clipped(PurePath(a.name).name),
        name_b="B" if b is None else clipped(PurePath(b.name).name),
        estimates=estimate(links),
        truth=None if truth is None else score(links.pairs, truth),
        close_calls=calls,
        n_close=n_close,
        hubs=_hubs(links, hubs, of_a, of_b),
        examples=examples(links, a, b, truth, sure=SURE_ONES, doubtful=DOUBTFUL_ONES),
        n_listed=len(listed),
        mapped=mapped,
        titled=of_a.titles is not None and of_b.titles is not None,
        packed=_packed(links, source, listed, of_a, of_b, mapped, right),
    )


def margins(links: Links) -> np.ndarray:
    """How far each link is above its best rival on either side, (n, 2) in csls; infinite where there is none."""
    column = links.evidence
    return np.column_stack(
        [
            np.where(column[f"rival_{side}"] >= 0, column["score"] - column[f"rival_{side}_score"], np.inf)
            for side in "ab"
        ]
    )


def _listed(n: int, kept: int) -> np.ndarray:
    """Ranks of the pairs to list with their evidence."""
    if n <= LISTED:
        return np.arange(n)
    first = min(max(kept - LISTED // 2, 0), n - LISTED)
    return np.arange(first, first + LISTED)


def _mentioned(source: Links, listed: np.ndarray, side: str, mapped: Mapped | None, hubs: np.ndarray) -> np.ndarray:
    column = 0 if side == "a" else 1
    others = [source.evidence[name][listed] for name in (ROWS_A if side == "a" else ROWS_B) if name in source.evidence]
    drawn = [] if mapped is None else [mapped.rows_a if side == "a" else mapped.rows_b]
    partners = [source.pairs[np.isin(source.pairs[:, 1 - column], hubs[:, 0]), column]]
    wrong = [np.array([pair[column] for pair in source.summary.wrong_seeds], np.int64)]
    return np.concatenate([source.pairs[listed, column], hubs[:, 0], *others, *drawn, *partners, *wrong])


def _close_calls(links: Links, of_a: Names, of_b: Names) -> tuple[list[CloseCall], int]:
    column = links.evidence
    if "rival_a" not in column or not len(links):
        return [], 0
    gaps = margins(links)
    gap = np.where(column.get("given", np.zeros(len(links), bool)), np.inf, gaps.min(axis=1))
    close = np.flatnonzero(gap <= CLOSE)
    calls = []
    for i in close[np.argsort(gap[close], kind="stable")][:SHOWN]:
        side = "ab"[int(np.argmin(gaps[i]))]
        rival = (of_a if side == "a" else of_b).of(int(column[f"rival_{side}"][i]))
        row_a, row_b = links.pairs[i].tolist()
        calls.append(CloseCall(of_a.of(row_a), of_b.of(row_b), rival, side, float(gap[i]), float(links.probability[i])))
    return calls, len(close)


def _hubs(links: Links, hubs: dict[str, np.ndarray], of_a: Names, of_b: Names) -> list[Hub]:
    listed = []
    for side, own, other, column in (("a", of_a, of_b, 0), ("b", of_b, of_a, 1)):
        for row, chosen in hubs[side].tolist():
            at = np.flatnonzero(links.pairs[:, column] == row)
            partner = other.of(int(links.pairs[at[0], 1 - column])) if len(at) else None
            listed.append(Hub(own.of(row), side, chosen, partner))
    return sorted(listed, key=lambda hub: (-hub.chosen, hub.side, hub.name))[:SHOWN]


def _packed(
    links: Links,
    source: Links,
    listed: np.ndarray,
    of_a: Names,
    of_b: Names,
    mapped: Mapped | None,
    right: np.ndarray | None,
) -> str:
    columns: dict[str, np.ndarray] = {
        "probability": np.rint(source.probability * 65535).astype(np.uint16),
        "rank": listed.astype(np.uint32),
        "a": of_a.place(source.pairs[listed, 0]),
        "b": of_b.place(source.pairs[listed, 1]),
    }
    evidence = {name: values[listed] for name, values in source.evidence.items()}
    for name in ROWS_A + ROWS_B:
        if name in evidence:
            columns[name] = (of_a if name in ROWS_A else of_b).place(evidence[name])
    numbers = _numbers(evidence)
    steps = _steps()
    columns |= {name: scaled(values, steps[name]) for name, values in numbers.items()}
    columns |= {name: np.minimum(evidence[name], 65535).astype(np.uint16) for name in COUNTS if name in evidence}
    columns["given"] = evidence.get("given", np.zeros(len(listed), bool)).astype(np.uint8)
    if right is not None:
        columns["right"] = right[listed].astype(np.uint8)
    if len(listed) == len(source):
        columns["exact"] = source.probability  # what the button writes is what a file would hold
    if mapped is not None:
        columns |= mapped.columns(of_a, of_b)
    place: dict[str, int] = {}
    for side, own in (("a", of_a), ("b", of_b)):
        if own.titles is not None:
            # each text once: titles of the two collections are often the same
            columns[f"title_{side}"] = np.array(
                [place.setdefault(title, len(place)) for title in own.titles], np.uint32
            )
    told = {
        "facts": _facts(links, source, mapped),
        "texts": list(place),
        "ids_a": of_a.ids,
        "ids_b": of_b.ids,
        "numbered": {"a": of_a.numbered, "b": of_b.numbered},
    }
    return pack(told, columns, steps)


def _steps() -> dict[str, float]:
    """The step in which each column of numbers is kept."""
    steps = dict.fromkeys(SIMILARITIES, SIMILARITY_STEP)
    return steps | {entry.name: entry.resolution for entry in registry.REGISTRY}


def _numbers(evidence: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The columns of numbers: all evidence, also what is no column of a links file, and what it is compared with."""
    numbers = {name: evidence[name] for name in SIMILARITIES if name in evidence}
    for entry in registry.REGISTRY:
        values = entry.recorded(evidence)
        if values is not None:
            numbers[entry.name] = values
    return numbers


def _facts(links: Links, source: Links, mapped: Mapped | None) -> dict[str, Any]:
    summary = links.summary
    smaller = min(summary.n_a, summary.n_b)
    spread = Spread.at(summary.overlap or 0.0, smaller)
    of_surer = Spread.at(summary.overlap or 0.0, smaller, summary.caution)
    return {
        "kept": len(links),
        "all": len(source),
        "overlap": summary.overlap,
        "estimated": summary.precision is not None,
        "caution": summary.caution,
        "spread": {
            "wrong": [spread.fewer_wrong, spread.more_wrong, of_surer.more_wrong],
            "found": [spread.lower_recall, spread.higher_recall],
            "chance": spread.chance,
            "surer": SURER,
        },
        "close": CLOSE,
        "sure": SURE,
        "unlinked": None if mapped is None else list(mapped.unlinked),
        "growth": links.trace.get("growth", []),
        "model": links.trace.get("model"),
        "labels": {entry.name: entry.label for entry in registry.REGISTRY},
        "told": {entry.name: registry.explained_with(entry.name) for entry in registry.REGISTRY},
        "decoys": links.trace.get("decoys"),
    }
