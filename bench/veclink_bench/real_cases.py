"""Collections as users have them, built from real vectors: unequal, with copies, with little in common.

Every case is a corpus (or several) embedded by two models, cut so that the truth is known. Constants and features are
chosen on the half `choose`; tables are made of the half `report`, whose corpora and encoder pairs are others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from zlib import crc32

import numpy as np

SEED_COUNT = 15
NEAR_COPY_GAP = (0.01, 0.12)  # 1 − cosine of a near copy, as a share of that of a typical row's nearest neighbour
PAIRED = ("copies", "formats")  # kinds whose cases differ in what was done to the same split


@dataclass(frozen=True, eq=False)
class Problem:
    """Two collections, which object each row is, and the seeds.

    Attributes
    ----------
    a, b : (n_a, d_a) and (n_b, d_b) vectors.
    object_a, object_b : (n_a,) and (n_b,) int64; equal numbers are the same object.
    seeds : (m, 2) rows, or None.
    """

    a: np.ndarray
    b: np.ndarray
    object_a: np.ndarray
    object_b: np.ndarray
    seeds: np.ndarray | None = None

    @property
    def shared(self) -> np.ndarray:
        """The objects that both sides hold."""
        return np.intersect1d(self.object_a, self.object_b)


class Corpora:
    """The vectors in a folder, one subfolder for each corpus, read once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._read: dict[tuple[str, str], np.ndarray] = {}

    def vectors(self, corpus: str, model: str) -> np.ndarray:
        """(n, d) float32 of one corpus, or of several joined by "+"."""
        key = corpus, model
        if key not in self._read:
            parts = [np.load(self.folder / each / f"{model}.npy") for each in corpus.split("+")]
            self._read[key] = np.concatenate(parts).astype(np.float32)
        return self._read[key]


Builder = Callable[[Corpora, np.random.Generator], Problem]


@dataclass(frozen=True)
class Case:
    """One trial: its half, its kind, a label that tells it from others of the kind, and how to build it."""

    half: str
    kind: str
    label: str
    trial: int
    build: Builder = field(repr=False)
    seeds: int = SEED_COUNT

    @property
    def name(self) -> str:
        """The key of its result."""
        return f"{self.half}/{self.kind}/{self.label}/{self.seeds}/{self.trial}"

    def problem(self, corpora: Corpora) -> Problem:
        """The collections of this trial; the same at every call."""
        drawn_by = self.kind if self.kind in PAIRED else self.label
        rng = np.random.default_rng([crc32(f"{self.half}/{drawn_by}".encode()), self.trial])
        return seeded(self.build(corpora, rng), self.seeds, rng)


@dataclass(frozen=True)
class Pair:
    """A corpus under two models."""

    corpus: str
    left: str
    right: str

    def __str__(self) -> str:
        return f"{self.corpus} {self.left}-{self.right}"

    def sides(self, corpora: Corpora) -> tuple[np.ndarray, np.ndarray]:
        """All rows under both models."""
        return corpora.vectors(self.corpus, self.left), corpora.vectors(self.corpus, self.right)


def even(pair: Pair, share: float, corpora: Corpora, rng: np.random.Generator, *, rows: int | None = None) -> Problem:
    """`share` of the corpus on both sides, the rest evenly on one of them."""
    left, right = pair.sides(corpora)
    order = rng.permutation(len(left))[:rows]
    n_shared = round(share * len(order))
    half = n_shared + (len(order) - n_shared) // 2
    rows_a, rows_b = order[:half], np.r_[order[:n_shared], order[half:]]
    return _cut(left, right, rows_a, rows_b, rng)


def unequal(pair: Pair, n_a: int, n_shared: int, most_b: int, corpora: Corpora, rng: np.random.Generator) -> Problem:
    """n_a rows on one side, of which n_shared are among at most most_b on the other."""
    left, right = pair.sides(corpora)
    order = rng.permutation(len(left))
    rows_b = np.r_[order[:n_shared], order[n_a:]][:most_b]
    return _cut(left, right, order[:n_a], rows_b, rng)


def around(
    shared: str,
    only_a: str | None,
    only_b: str | None,
    models: tuple[str, str],
    share: float,
    corpora: Corpora,
    rng: np.random.Generator,
) -> Problem:
    """What is shared comes from one corpus, what only one side has from others (None: from the same)."""
    left, right = (corpora.vectors(shared, model) for model in models)
    order = rng.permutation(len(left))
    size = len(order)
    n_shared = round(share * size)
    alone = (size - n_shared) // 2
    own_a, own_b = order[n_shared : n_shared + alone], order[n_shared + alone :]
    rows, ids = [], []
    for side, (vectors, other, own) in enumerate(((left, only_a, own_a), (right, only_b, own_b))):
        if other is None:
            rest, rest_ids = vectors[own], own
        else:
            far = corpora.vectors(other, models[side])
            drawn = rng.permutation(len(far))[:alone]
            rest, rest_ids = far[drawn], drawn + 100_000 * (side + 1)
        rows.append(np.concatenate([vectors[order[:n_shared]], rest]))
        ids.append(np.r_[order[:n_shared], rest_ids])
    mixed = [rng.permutation(len(each)) for each in ids]
    return Problem(rows[0][mixed[0]], rows[1][mixed[1]], ids[0][mixed[0]], ids[1][mixed[1]])


def titles(right: str, share: float, corpora: Corpora, rng: np.random.Generator) -> Problem:
    """Titles on one side, titles with abstracts on the other."""
    return even(Pair("papers", "titles.minilm", right), share, corpora, rng)


def catalogue(name: str, left: str, right: str, removed: float, corpora: Corpora, rng: np.random.Generator) -> Problem:
    """Two catalogues of the same objects, written differently; of B so many of the partners are removed."""
    a, b = (corpora.vectors("catalogues", f"{name}.{side}") for side in (f"a.{left}", f"b.{right}"))
    truth = rng.permutation(np.load(corpora.folder / "catalogues" / f"{name}.truth.npy"))
    object_a, object_b = np.arange(len(a)), 100_000 + np.arange(len(b))
    object_b[truth[:, 1]] = truth[:, 0]
    gone = truth[: round(removed * len(truth)), 1]
    rows_a, rows_b = rng.permutation(len(a)), rng.permutation(np.setdiff1d(np.arange(len(b)), gone))
    return Problem(a[rows_a], b[rows_b], object_a[rows_a], object_b[rows_b])


def copied(
    build: Builder, sides: str, share: float, group: int, near: bool, corpora: Corpora, rng: np.random.Generator
) -> Problem:
    """As `build`, then so many rows of the named sides come from copies, in groups of `group`."""
    problem = build(corpora, rng)
    a, object_a = problem.a, problem.object_a
    b, object_b = problem.b, problem.object_b
    if "a" in sides:
        a, object_a = _with_copies(a, object_a, share, group, near, rng)
    if "b" in sides:
        b, object_b = _with_copies(b, object_b, share, group, near, rng)
    return Problem(a, b, object_a, object_b)


def stored_as(form: str, build: Builder, corpora: Corpora, rng: np.random.Generator) -> Problem:
    """As `build`, its vectors kept as a store might: int8, binary, the first 128 dimensions, with varying norms."""
    problem = build(corpora, rng)
    a, b = (_stored(side, form, rng) for side in (problem.a, problem.b))
    return Problem(a, b, problem.object_a, problem.object_b)


def nothing(how: str, pair: Pair, other: str, corpora: Corpora, rng: np.random.Generator) -> Problem:
    """Two collections that share no object, with seeds that are all wrong where there are any."""
    left, right = pair.sides(corpora)
    order = rng.permutation(len(left))
    rows_a, rows_b = order[: len(order) // 2], order[len(order) // 2 :]
    a, b = left[rows_a], right[rows_b]
    if how == "other domain":
        b = corpora.vectors(other, pair.right)
    elif how == "noise":
        b = rng.normal(size=b.shape).astype(np.float32)
    elif how == "unequal":
        a = a[:400]
    elif how == "few":
        a, b = a[:300], b[:300]
    ids_a, ids_b = np.arange(len(a)), 100_000 + np.arange(len(b))
    if how == "copies":
        a, ids_a = _with_copies(a, ids_a, 0.2, 2, True, rng)
        b, ids_b = _with_copies(b, ids_b, 0.2, 2, False, rng)
    return Problem(a, b, ids_a, ids_b)


def cases(half: str, *, trials: int, seeds: tuple[int, ...] = (SEED_COUNT,)) -> Iterator[Case]:
    """All cases of a half, trial by trial, so that a part of them already says something."""
    listed = list(_choose() if half == "choose" else _report())
    for trial in range(trials):
        for kind, label, build in listed:
            for count in seeds:
                yield Case(half, kind, label, trial, build, count)


def _choose() -> Iterator[tuple[str, str, Builder]]:
    science, weak = Pair("scifact", "minilm", "mpnet"), Pair("scifact", "e5", "granite")
    social, films = Pair("reddit", "minilm", "e5"), Pair("movies", "minilm", "e5")
    yield from _usual((science, weak, social), films, wide=Pair("scifact+reddit", "minilm", "e5"), narrow=science)
    for share in (0.3, 0.15):
        models = ("minilm", "e5")
        yield "domains", f"both {share}", partial(around, "scifact", "movies", "reddit", models, share)
        yield "domains", f"one {share}", partial(around, "scifact", None, "movies", models, share)
    yield "domains", "both 0.3 films", partial(around, "movies", "scifact", "reddit", models, 0.3)
    for share in (0.5, 0.3, 0.15):
        for corpus in ("scifact", "nfcorpus"):
            for modern in ("minilm", "mpnet"):
                pair = Pair(corpus, "use", modern)
                yield f"weak {share}", str(pair), partial(even, pair, share)
    for name in ("abt-buy", "dblp-acm"):
        for left, right in (("minilm", "e5"), ("e5", "minilm")):
            yield "catalogues", f"{name} {left}-{right}", partial(catalogue, name, left, right, 0.0)
            yield "catalogues", f"{name} {left}-{right} cut", partial(catalogue, name, left, right, 0.45)
    yield from _nothings(science, social, "reddit", "movies")


def _report() -> Iterator[tuple[str, str, Builder]]:
    medicine, weak = Pair("nfcorpus", "mpnet", "e5"), Pair("nfcorpus", "minilm", "granite")
    questions, papers = Pair("stackexchange", "mpnet", "e5"), Pair("papers", "mpnet", "e5")
    yield from _usual((medicine, weak, questions, papers), None, Pair("papers+nfcorpus", "mpnet", "e5"), papers)
    for share in (0.3, 0.15):
        models = ("mpnet", "e5")
        yield "domains", f"both {share}", partial(around, "nfcorpus", "papers", "stackexchange", models, share)
        yield "domains", f"one {share}", partial(around, "papers", None, "nfcorpus", models, share)
    for right in ("minilm", "mpnet", "e5"):
        yield "titles", f"minilm-{right} 0.3", partial(titles, right, 0.3)
    yield from _nothings(medicine, papers, "papers", "nfcorpus")


def _usual(pairs: tuple[Pair, ...], hard: Pair | None, wide: Pair, narrow: Pair) -> Iterator[tuple[str, str, Builder]]:
    for share in (0.5, 0.3, 0.15, 0.05):
        for pair in pairs:
            yield f"even {share}", str(pair), partial(even, pair, share)
    if hard is not None:
        yield "even 0.3", str(hard), partial(even, hard, 0.3)
    for pair in (narrow, wide):
        yield "all of 150", f"{pair}", partial(unequal, pair, 150, 150, 5000)
        yield "all of 500", f"{pair}", partial(unequal, pair, 500, 500, 5000)
        yield "half of 600", f"{pair}", partial(unequal, pair, 600, 300, 7000)
        yield "tenth of 2000", f"{pair}", partial(unequal, pair, 2000, 200, 6500)
        yield "100 in 3000", f"{pair}", partial(unequal, pair, 100, 100, 3000)
    split = partial(even, narrow, 0.3)
    yield "copies", "none", split
    yield "copies", "b near 0.2 of 2", partial(copied, split, "b", 0.2, 2, True)
    yield "copies", "b exact 0.15 of 2", partial(copied, split, "b", 0.15, 2, False)
    yield "copies", "ab near 0.1 of 5", partial(copied, split, "ab", 0.1, 5, True)
    yield "copies", "a exact 0.3 of 2", partial(copied, split, "a", 0.3, 2, False)
    yield "copies", "ab exact 0.01 of 20", partial(copied, split, "ab", 0.01, 20, False)
    small = pairs[1]
    for rows, share in ((200, 0.5), (400, 0.3)):
        yield "few", f"{small} {rows} {share}", partial(even, small, share, rows=rows)
    for form in ("int8", "binary", "first 128", "norms"):
        yield "formats", form, partial(stored_as, form, partial(even, pairs[0], 0.3))


def _nothings(first: Pair, second: Pair, other_first: str, other_second: str) -> Iterator[tuple[str, str, Builder]]:
    for pair, other in ((first, other_first), (second, other_second)):
        for how in ("same domain", "other domain", "noise", "unequal", "copies", "few"):
            yield "nothing", f"{how} {pair}", partial(nothing, how, pair, other)


def seeded(problem: Problem, count: int, rng: np.random.Generator) -> Problem:
    """The problem with so many true pairs as seeds; wrong ones where nothing is shared."""
    if not count:
        return problem
    shared = problem.shared
    if len(shared):
        drawn = rng.choice(shared, min(count, len(shared)), replace=False)
        first_a, first_b = (_first_rows(ids, drawn) for ids in (problem.object_a, problem.object_b))
        pairs = np.column_stack([first_a, first_b])
    else:
        pairs = np.column_stack([rng.choice(len(side), count, replace=False) for side in (problem.a, problem.b)])
    return Problem(problem.a, problem.b, problem.object_a, problem.object_b, pairs)


def _first_rows(ids: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    known, first = np.unique(ids, return_index=True)
    return first[np.searchsorted(known, wanted)]


def _cut(
    left: np.ndarray, right: np.ndarray, rows_a: np.ndarray, rows_b: np.ndarray, rng: np.random.Generator
) -> Problem:
    rows_a, rows_b = rng.permutation(rows_a), rng.permutation(rows_b)
    return Problem(left[rows_a], right[rows_b], rows_a, rows_b)


def _with_copies(
    vectors: np.ndarray, ids: np.ndarray, share: float, group: int, near: bool, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Copies of `share`·n/(group − 1) rows, so many each that a group has `group` members, in random order."""
    chosen = rng.choice(len(vectors), max(1, round(share * len(vectors) / (group - 1))), replace=False)
    again = np.repeat(chosen, group - 1)
    copies = vectors[again]
    if near:
        copies = _nearly(copies, _nearest_gap(vectors, rng), rng)
    order = rng.permutation(len(vectors) + len(again))
    return np.concatenate([vectors, copies])[order], np.r_[ids, ids[again]][order]


def _nearly(vectors: np.ndarray, typical_gap: float, rng: np.random.Generator) -> np.ndarray:
    """Each row turned a little, in a random direction, to a gap within NEAR_COPY_GAP of the typical one."""
    gap = rng.uniform(*NEAR_COPY_GAP, size=(len(vectors), 1)).astype(np.float32)
    cosine = 1 - gap * np.float32(typical_gap)
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    turn = rng.normal(size=vectors.shape).astype(np.float32)
    turn -= (turn * vectors).sum(axis=1, keepdims=True) * vectors / (vectors * vectors).sum(axis=1, keepdims=True)
    turn /= np.linalg.norm(turn, axis=1, keepdims=True)
    return cosine * vectors + np.sqrt(1 - cosine**2) * turn * length


def _nearest_gap(vectors: np.ndarray, rng: np.random.Generator) -> float:
    """The median of 1 − cosine to the nearest other row, over a sample."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    sample = rng.permutation(len(unit))[:500]
    cosine = unit[sample] @ unit.T
    cosine[np.arange(len(sample)), sample] = -1
    best = cosine.max(axis=1)
    return float(np.median(1 - best[best < 1 - 1e-5]))


def _stored(vectors: np.ndarray, form: str, rng: np.random.Generator) -> np.ndarray:
    if form == "int8":
        return np.round(vectors / np.abs(vectors).max() * 127).astype(np.int8).astype(np.float32)
    if form == "binary":
        return np.where(vectors > 0, 1.0, -1.0).astype(np.float32)
    if form == "first 128":
        return vectors[:, :128]
    if form == "norms":
        return vectors * rng.lognormal(sigma=0.5, size=(len(vectors), 1)).astype(np.float32)
    raise ValueError(f"The form {form!r} is unknown.")
