"""Translator: takes vectors of model A into the space of model B, fitted to links and measured on links held back.

A query made with model A can then be asked of a collection of model B; fitted with `reverse`, the other way round.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from veclink.data.collection import Collection, numbers
from veclink.errors import InputError, plural
from veclink.files.atomic import written_whole
from veclink.files.memory import forget_pages
from veclink.files.safetensors import read_header, read_tensor, write_tensors
from veclink.geometry.clouds import in_range, lengths, prepare
from veclink.geometry.signatures import unit_rows
from veclink.progress import ProgressListener, tell
from veclink.stores.opening import open_collection
from veclink.stores.protocol import Batch
from veclink.threads import computing
from veclink.uses.linked_pairs import GivenLinks, pairs_of
from veclink.uses.map_quality import FOLDS, Quality, crossfitted
from veclink.uses.maps import DEFAULT_MAP, KINDS, LEAST_LINKS, Map, Moments, Paired, fit_map, map_from_arrays

Source = np.ndarray | Collection | str | Path
FORMAT = 1
ENOUGH_LINKS = 100_000  # a random choice of more fits no better, and costs time
FEW_LINKS = 100  # below this, too few links are named as a reason for a poor map
CHUNK = 8192  # rows that are translated at a time
MOST_NUMBERS = 1_000_000
"""Numbers of a vector that a saved translator may name: far more than any model gives."""
LENGTHS = (1.2e-38, 3e38)  # of translated vectors: within what float32 holds of each number
KEY = "veclink"  # of the header of a file



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
        a, b : array of shape (n, d), Collection, path or URL
            The collections that were linked.
        map : str
            "blend", "la2m" (the paper's), "procrustes", "ridge", "lowrank" (see `maps`), or "auto", which compares all
            of them on held-back links and keeps the one whose neighbours agree best with the partners'.
        reverse : bool
            Whether it translates from B to A instead of from A to B.
        check : bool
            Whether the map is measured on held-back links; without it one given kind is fitted and not measured.
        random_state : int
            The same one gives the same map.
        progress : callable, optional
            Hears of every kind that is tried.
        """
        check_map(map)
        left, right = open_collection(a, payload=False), open_collection(b, payload=False)
        pairs, weight = pairs_of(links, left, right, by_id=False)
        if reverse:
            left, right, pairs = right, left, pairs[:, ::-1]
        paired = paired_rows(pairs, weight, left, right)
        return fit_translator(paired, map, check=check, random_state=random_state, progress=progress)

    @property
    def warning(self) -> str | None:
        """A sentence where the map does no better on held-back links than by chance; None where it does."""
        quality = self.quality
        if quality is None or not quality.at_chance:
            return None
        few = f"too few ({self.n_links:,}), " if self.n_links < FEW_LINKS else ""
        return (
            f"The map is no better than chance: of {plural(quality.held_back, 'link')} held back it keeps "
            f"{quality.neighbours:.1%} of the ten nearest neighbours, with partners exchanged {quality.chance:.1%}; "
            f"the links are {few}wrong, or of other collections, or A and B are exchanged."
        )

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
        write_arrays(path, self.map.arrays(), {"format": FORMAT, **self.describe()})

    @classmethod
    def load(cls, path: str | Path) -> Translator:
        """The translator saved in `path`."""
        arrays, told = read_arrays(path)
        if told.get("format") != FORMAT:
            raise InputError(f"{path} has the format {told.get('format')} and this version reads {FORMAT}.")
        try:
            tried = tuple(Quality.from_dict(each) for each in told["tried"])
            loaded = cls(
                map_from_arrays(arrays),
                told["kind"],
                (int(told["dimensions"][0]), int(told["dimensions"][1])),
                int(told["n_links"]),
                None if told["quality"] is None else Quality.from_dict(told["quality"]),
                tried,
                float(told["length"]),
            )
            _try_out(loaded)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
            raise InputError(f"{path} is not a sound translator ({error!r}); save it again.") from error
        return loaded


def paired_rows(pairs: np.ndarray, weight: np.ndarray, a: Collection, b: Collection) -> Paired:
    """The pairs (m, 2) of rows that both have a direction, and how much each counts (m,)."""
    clouds = []
    for side, each in (("A", a), ("B", b)):
        clouds.append(prepare(each, centre=False, skip_zero=True, side=side))
        forget_pages(each.vectors)
    usable = np.isin(pairs[:, 0], clouds[0].rows) & np.isin(pairs[:, 1], clouds[1].rows)
    rows = np.column_stack([cloud.positions(rows) for cloud, rows in zip(clouds, pairs[usable].T, strict=True)])
    return Paired(clouds[0], clouds[1], rows, weight[usable])


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
    if len(paired) < LEAST_LINKS:
        raise InputError(
            f"There are {plural(len(paired), 'link')}; a map needs at least {LEAST_LINKS}. "
            "Link again with more known pairs."
        )
    rng = np.random.default_rng(random_state)
    fitted = paired.only(np.sort(rng.permutation(len(paired))[:ENOUGH_LINKS]))
    fold = rng.permutation(len(fitted)) % FOLDS
    parts = [Moments.of(fitted.only(fold == each)) for each in range(FOLDS)]
    candidates = KINDS if map == "auto" else (map,) if check else ()
    tried = []
    for step, each in enumerate(candidates):
        tell(progress, f"trying the map {each}", len(fitted), step + 1, len(KINDS) + 1)
        tried.append(crossfitted(each, fitted, fold, parts, random_state))
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
        length=1.0 if abs(length - 1.0) < 2e-3 else float(np.clip(length, *LENGTHS)),
    )


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


def write_arrays(path: str | Path, arrays: Mapping[str, np.ndarray], told: Mapping[str, Any]) -> None:
    """Save arrays as float32, and a JSON object, whole or not at all."""
    path = Path(path)
    if path.suffix.lower() != ".safetensors":
        raise InputError(f"{path} does not end in .safetensors; translators are saved as that.")
    tensors = {name: array.astype(np.float32, copy=False) for name, array in arrays.items()}
    with written_whole(path) as temporary:
        write_tensors(temporary, tensors, {KEY: json.dumps(dict(told))})


def read_arrays(path: str | Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the JSON object that `write_arrays` saved."""
    path = Path(path)
    try:
        tensors, metadata = read_header(path)
        told = json.loads(metadata[KEY])
        arrays = {name: np.array(read_tensor(path, entry)) for name, entry in tensors.items()}
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); check the name.") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        raise InputError(f"{path} is not a translator that was saved here ({error!r}); save it again.") from error
    if not isinstance(told, dict) or any(array.dtype != np.float32 for array in arrays.values()):
        raise InputError(f"{path} is not a translator that was saved here; save it again.")
    return arrays, told


def _try_out(translator: Translator) -> None:
    """Refuse a map whose arrays do not fit one another, or the dimensions that it names: one row shows it."""
    taken, given = translator.dimensions
    if not 0 < taken <= MOST_NUMBERS or not 0 < given <= MOST_NUMBERS:
        raise ValueError(f"its dimensions are {taken} and {given}")
    if not 0 < translator.length <= LENGTHS[1]:
        raise ValueError(f"its vectors have the length {translator.length}")
    row = translator.map.apply(np.ones((1, taken), np.float32))
    if row.shape != (1, given):
        raise ValueError(f"it gives {row.shape} numbers instead of {given}")
    if not all(np.isfinite(each).all() for each in translator.map.arrays().values()):
        raise ValueError("it holds NaN or infinite numbers")
