"""Translator: takes vectors of model A into the space of model B, fitted to links and measured on links held back.

A query made with model A can then be asked of a collection of model B; fitted with `reverse`, the other way round.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from veclink.data.collection import Collection, numbers
from veclink.errors import InputError, plural
from veclink.files.atomic import written_whole
from veclink.files.memory import forget_pages
from veclink.files.safetensors import read_tensors, write_tensors
from veclink.files.tables import readable
from veclink.geometry.clouds import in_range, lengths, prepare
from veclink.geometry.nearest import EXCLUDED, largest
from veclink.geometry.signatures import unit_rows
from veclink.progress import ProgressListener, tell
from veclink.stores.opening import open_collection
from veclink.stores.protocol import Batch
from veclink.threads import computing
from veclink.uses.linked_pairs import GivenLinks, pairs_of, places_of
from veclink.uses.maps import DEFAULT_MAP, KINDS, Affine, Local, Map, Moments, Paired, fit_map

Source = np.ndarray | Collection | str | Path
CHUNK = 8192  # rows that are translated at a time
FOLDS = 3  # of the links, each held back once


@dataclass(frozen=True)
class Quality:
    """How well a map takes held-back links to their partners: each was left out of the map that it is measured with.

    cosine: mean cosine of a translated vector and its partner. partner: how often the partner is the nearest of `among`
    rows of B. neighbours: how many of the partner's ten nearest rows are among the translated vector's ten nearest.
    held_back: how many links were measured. A wrong link counts as a failure of the map, so these figures are lower
    than the truth where links are wrong. chance: what `neighbours` is with the partners exchanged among the held-back
    links; at_chance: whether it is not clearly (by three standard errors) more than that.
    """

    kind: str
    cosine: float
    partner: float
    neighbours: float
    held_back: int
    among: int
    chance: float = 0.0
    at_chance: bool = False

    def sentence(self) -> str:
        """The same for a person."""
        return (
            f"On {self.held_back:,} held-out links, vectors translated by the map {self.kind} have a mean cosine of "
            f"{self.cosine:.2f} to the linked vector, and find {self.neighbours:.0%} of its ten nearest neighbours."
        )


@dataclass(frozen=True, eq=False)
class Translator:
    """A fitted map between two spaces.

    Attributes
    ----------
    map : Map
        Takes unit rows of the one space to the other.
    kind : str
        Which kind of map it is.
    dimensions : tuple of int
        Of the vectors that it takes, and of those that it gives.
    n_links : int
        Links that it was fitted to.
    quality : Quality, optional
        Of the kind in use, on links held back.
    tried : tuple of Quality
        Of all kinds that were compared.
    length : float
        What translated vectors are scaled to, 1 unless the vectors of the other side have another typical length.
    """

    map: Map
    kind: str
    dimensions: tuple[int, int]
    n_links: int
    quality: Quality | None = None
    tried: tuple[Quality, ...] = ()
    length: float = 1.0

    def __repr__(self) -> str:
        taken, given = self.dimensions
        return f"Translator({self.kind}: from {taken:,} to {given:,} numbers, fitted to {self.n_links:,} links)"

    @classmethod
    def fit(
        cls,
        links: GivenLinks,
        a: Source,
        b: Source,
        *,
        map: str = DEFAULT_MAP,
        reverse: bool = False,
        check: bool = True,
        random_state: int = 0,
        progress: ProgressListener | None = None,
    ) -> Translator:
        """A translator out of links, each counting by its probability.

        Parameters
        ----------
        links : Links, pairs of shape (m, 2), or path
            At least 10.
        a, b : array of shape (n, d), frame, Collection, path or URL
            The collections that were linked.
        map : str
            "blend", "la2m" (the paper's), "procrustes", "ridge" (see `maps`), or "auto", which compares all
            of them on held-back links and keeps the one whose neighbours agree best with the partners'.
        reverse : bool
            Whether it translates from B to A instead of from A to B.
        check : bool
            Whether the map is measured on held-back links; without it one given kind is fitted and not measured.
        random_state : int
            Seed of the random generator.
        progress : callable, optional
            Called for every kind that is tried.
        """
        check_map(map)
        paired = paired_links(links, a, b)
        given = paired.turned() if reverse else paired
        return fit_translator(given, map, check=check, random_state=random_state, progress=progress)

    @property
    def warning(self) -> str | None:
        """A sentence where the map does no better on held-back links than by chance; None where it does."""
        quality = self.quality
        if quality is None or not quality.at_chance:
            return None
        few = f"too few ({self.n_links:,}), " if self.n_links < 100 else ""
        return (
            f"The map is no better than chance: of {plural(quality.held_back, 'link')} held back it keeps "
            f"{quality.neighbours:.1%} of the ten nearest neighbours, with partners exchanged {quality.chance:.1%}; "
            f"the links are {few}wrong, or of other collections, or A and B are exchanged."
        )

    @computing()  # else the last bits depend on the threads of BLAS
    def transform(self, vectors: np.ndarray) -> np.ndarray:
        """Vectors of the one model (n, d1), of any length, as vectors of the other (n, d2), float32."""
        vectors = np.asarray(vectors)
        if vectors.ndim != 2 or vectors.shape[1] != self.dimensions[0]:
            raise InputError(
                f"The vectors have the shape {vectors.shape}; this translator takes rows of {self.dimensions[0]:,}."
            )
        out = np.empty((len(vectors), self.dimensions[1]), np.float32)
        for start in range(0, len(vectors), CHUNK):
            rows = unit_rows(in_range(vectors[start : start + CHUNK]).astype(np.float32))
            out[start : start + CHUNK] = unit_rows(self.map.apply(rows))
        if self.length != 1.0:
            out *= np.float32(self.length)
        return out

    def describe(self) -> dict[str, Any]:
        """What is known of the translator, ready for JSON."""
        return {
            "kind": self.kind,
            "dimensions": list(self.dimensions),
            "n_links": self.n_links,
            "length": self.length,
            "quality": None if self.quality is None else asdict(self.quality),
            "tried": [asdict(each) for each in self.tried],
        }

    def save(self, path: str | Path) -> None:
        """Write a .safetensors file, whole or not at all; what `describe` gives is in its header as JSON."""
        path = Path(path)
        if path.suffix.lower() != ".safetensors":
            raise InputError(f"{path} does not end in .safetensors; translators are saved as that.")
        with written_whole(path) as temporary:
            write_tensors(temporary, vars(self.map), {"veclink": json.dumps({"format": 1, **self.describe()})})

    @classmethod
    def load(cls, path: str | Path) -> Translator:
        """The translator saved in `path`."""
        path = Path(path)
        with readable(f"{path} is not a sound translator", "check the name, or save it again"):
            tensors, metadata = read_tensors(path)
            told = json.loads(metadata["veclink"])
            arrays = {name: np.array(tensor) for name, tensor in tensors.items()}
            if "back" in arrays:  # a map of low rank, which earlier versions fitted
                arrays["matrix"] = arrays["matrix"] @ arrays.pop("back")
            fitted: Map = Local(**arrays) if "centres" in arrays else Affine(**arrays)
            taken, given = told["dimensions"]
            sound = told["format"] == 1 and 0 < taken <= 1_000_000 and 0 < told["length"] <= 3e38
            quality, *tried = (each and Quality(**each) for each in (told["quality"], *told["tried"]))
            figures = (value for each in (quality, *tried) if each for value in list(vars(each).values())[1:])
            sound = sound and all(isinstance(value, (int, float)) for value in figures)  # the first is the kind
            sound = sound and all(each.dtype == np.float32 and np.isfinite(each).all() for each in arrays.values())
            # one row shows whether the arrays fit one another, and the dimensions
            if not sound or fitted.apply(np.ones((1, taken), np.float32)).shape != (1, given):
                raise InputError(f"{path} is not a translator that this version reads, or its numbers are damaged.")
            about = told["kind"], (taken, given), int(told["n_links"]), quality, tuple(tried), float(told["length"])
            return cls(fitted, *about)


def paired_links(links: GivenLinks, a: Source, b: Source) -> Paired:
    """The links between two collections whose vectors have a direction; each counts by its probability."""
    left, right = open_collection(a, payload=False), open_collection(b, payload=False)
    return paired_rows(*pairs_of(links, left, right, by_id=False), left, right)


def paired_rows(pairs: np.ndarray, weight: np.ndarray, a: Collection, b: Collection) -> Paired:
    """The pairs (m, 2) of rows that both have a direction, and how much each counts (m,); too few are refused."""
    clouds = []
    for side, each in (("A", a), ("B", b)):
        clouds.append(prepare(each, centre=False, skip_zero=True, side=side))
        forget_pages(each.vectors)
    places = places_of(pairs, *clouds)
    usable = (places >= 0).all(axis=1)
    if usable.sum() < 10:
        links = plural(int(usable.sum()), "link")
        raise InputError(f"There are {links}; a map needs at least 10. Link again with more known pairs.")
    return Paired(clouds[0], clouds[1], places[usable], weight[usable])


@computing()
def fit_translator(
    paired: Paired,
    map: str,
    *,
    check: bool = True,
    random_state: int = 0,
    progress: ProgressListener | None = None,
) -> Translator:
    """A translator from paired rows; see `Translator.fit`."""
    rng = np.random.default_rng(random_state)
    fitted = paired.only(np.sort(rng.permutation(len(paired))[:100_000]))  # more fit no better
    fold = rng.permutation(len(fitted)) % FOLDS
    parts = [Moments.of(fitted.only(fold == each)) for each in range(FOLDS)]
    candidates = KINDS if map == "auto" else (map,) if check else ()
    tried = []
    for step, each in enumerate(candidates):
        tell(progress, f"trying the map {each}", len(fitted), step + 1, len(KINDS) + 1)
        tried.append(_measured(each, fitted, fold, parts, random_state))
    best = max(tried, key=lambda quality: (quality.neighbours, quality.cosine), default=None)
    kind = map if best is None else best.kind
    # the median length of some linked vectors; exactly 1 where they are unit vectors within float16
    linked = np.sort(paired.b.rows[paired.pairs[:, 1]][:CHUNK])
    length = float(np.median(lengths(numbers(paired.b.collection, linked))))
    return Translator(
        map=fit_map(kind, fitted, parts, random_state=random_state),
        kind=kind,
        dimensions=(paired.a.shape[1], paired.b.shape[1]),
        n_links=len(paired),
        quality=best,
        tried=tuple(tried),
        length=1.0 if abs(length - 1.0) < 2e-3 else float(np.clip(length, 1.2e-38, 3e38)),
    )


def crossfitted(
    kind: str, paired: Paired, fold: np.ndarray, parts: list[Moments], random_state: int
) -> Iterator[tuple[np.ndarray, Map]]:
    """Which of the pairs (n,) are in each fold, and a map that was fitted to the others."""
    for each in range(FOLDS):
        rest = [part for place, part in enumerate(parts) if place != each]
        yield fold == each, fit_map(kind, paired.only(fold != each), rest, random_state=random_state)


def _measured(kind: str, paired: Paired, fold: np.ndarray, parts: list[Moments], random_state: int) -> Quality:
    """The quality of a kind of map, each link being measured with a map fitted without its fold."""
    rng = np.random.default_rng([random_state, len(paired)])
    rows = np.sort(rng.permutation(len(paired.b))[:10_000])
    blocks, measured = [], []
    for start in range(0, len(rows), 500):  # each may bring a megabyte of a mapped file into memory
        blocks.append(paired.b.take(rows[start : start + 500]))
        forget_pages(paired.b.collection.vectors)
    others = np.concatenate(blocks)
    for held_back, fitted in crossfitted(kind, paired, fold, parts, random_state):
        x, y = paired.only(rng.permutation(np.flatnonzero(held_back))[:300]).vectors()
        moved = unit_rows(fitted.apply(x))
        of_others = _agreement(moved, np.roll(y, 1, axis=0), others)[:, 2:]  # what wrong partners would give
        measured.append(np.column_stack([_agreement(moved, y, others), of_others]))
        for cloud in (paired.a, paired.b):
            forget_pages(cloud.collection.vectors)
    every = np.concatenate(measured)
    cosine, partner, neighbours, chance = np.round(every.mean(axis=0), 4).tolist()
    above = every[:, 2] - every[:, 3]
    at_chance = bool(above.mean() <= 3 * above.std() / np.sqrt(len(above)))
    return Quality(kind, cosine, partner, neighbours, len(every), len(others), chance, at_chance)


def _agreement(moved: np.ndarray, true: np.ndarray, others: np.ndarray) -> np.ndarray:
    """(n, 3): cosine to the partner, whether no row is nearer, and the share of ten nearest rows that both have."""
    cosine = np.einsum("ij,ij->i", moved, true)
    near, near_true = moved @ others.T, true @ others.T
    itself = near_true > 1 - 1e-5  # the partner, where it is one of the rows, is no neighbour of itself
    near_true[itself] = near[itself] = EXCLUDED
    return np.column_stack([cosine, near.max(axis=1) < cosine, shared_neighbours(near, near_true)])


def shared_neighbours(near: np.ndarray, near_true: np.ndarray) -> list[float]:
    """The share of the ten nearest rows that two searches have in common, for each query (row)."""
    depth = min(10, near.shape[1] - 1)
    tops = (largest(each, depth) for each in (near, near_true))
    return [len(np.intersect1d(*pair)) / depth for pair in zip(*tops, strict=True)]


def check_map(map: str) -> None:
    """Refuse a kind of map that is not known."""
    if map not in ("auto", *KINDS):
        raise InputError(f"The map {map!r} is unknown; it is auto or one of {', '.join(KINDS)}.")


def translated_batches(translator: Translator, source: Collection, *, payload: bool = True) -> Iterator[Batch]:
    """All rows of a collection, translated, with their ids and payload, as stores take them."""
    for start in range(0, max(len(source), 1), CHUNK):
        stop = min(start + CHUNK, len(source))
        yield Batch(
            translator.transform(numbers(source, slice(start, stop))),
            source.ids_at(slice(start, stop)),
            source.payload.slice(start, stop - start) if payload and source.payload is not None else None,
        )
