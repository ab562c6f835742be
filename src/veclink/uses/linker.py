"""Linker: links between two collections that grow. Fitted once, it judges new rows in one pass over the other side.

Saved, it is a folder: JSON for what can be read, safetensors for numbers, a links file; nothing in it is ever run.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from veclink import __version__
from veclink.backends import placed_clouds
from veclink.confidence.calibration import Model
from veclink.confidence.constants import CALIBRATION_VERSION
from veclink.data.collection import Collection, digest, numbers
from veclink.data.links import Links
from veclink.data.summary import plain_json
from veclink.errors import InputError, OutputError, VeclinkError, named, plural, without_secrets
from veclink.files.atomic import alone, check_replaceable, folder_written_whole, unchanged
from veclink.files.safetensors import read_tensors, write_tensors
from veclink.files.tables import readable
from veclink.geometry.clouds import Cloud, inspected, prepare
from veclink.linkers.copies import grouped
from veclink.linkers.linking import Source, link
from veclink.linkers.options import SpanOptions
from veclink.linkers.verdict import NOT_LINKABLE
from veclink.progress import ProgressListener, heard, shows_progress, tell
from veclink.stores.opening import open_collection, with_payload
from veclink.threads import takes_threads
from veclink.uses.known_rows import SIDES, Knowledge, KnownSide, Part, learn, marks_of, side_of
from veclink.uses.linked_pairs import check_links
from veclink.uses.new_rows import Judged, as_links, judge, of_batch, signatures_of, taken_in
from veclink.uses.translating import Translator

LINKING = ("device", "random_state", "memory", "skip_zero")
"""Options of the fit that the next one has too."""
FORMAT = 2
"""1 knew rows by a sample of them, and did not seal the links and the translators."""
PLAIN, MAPS, ANCHORS, LINKS = "linker.json", "maps.safetensors", "anchors.safetensors", "links.parquet"
ROWS = ("rows_a.safetensors", "rows_b.safetensors")
TRANSLATORS = ("a_to_b.safetensors", "b_to_a.safetensors")
SEALED = (MAPS, ANCHORS, LINKS, *ROWS, *TRANSLATORS)


@dataclass(eq=False, repr=False)
class Linker:
    """Links two collections that grow: fitted once, it judges new rows, and keeps all links so far.

    Made by `fit` or `load`. It is small: maps, some thousand vectors, and a few numbers for each row. It does not hold
    the collections. If one is needed, it is still in memory from `fit`, opened again from where it was, or given.

    Attributes
    ----------
    links : Links
        All links so far: those of the fit, then those of the rows that `update` added.
    """

    links: Links
    knowledge: Knowledge
    translators: tuple[Translator, Translator]
    sources: list[str | None]
    """The path or URL of each side."""
    ids_from: list[str | None]
    """The file of payload whose ids name the rows of each side, where the vectors came without ids."""
    options: dict[str, Any]
    """How the two were linked, for the next fit."""
    _parts: tuple[list[Collection], list[Collection]] = field(default_factory=lambda: ([], []))
    """Each side as it is in memory, batch after batch; empty where it is not."""
    _folders: dict[str, str] = field(default_factory=dict)
    """What tells the content of each folder that was read or written."""
    _others: dict[int, tuple[Cloud, list[np.ndarray]]] = field(default_factory=dict)
    """The rows of a side as new ones are compared with them, and their signatures."""

    def __repr__(self) -> str:
        n_a, n_b = self.sizes
        return f"Linker({n_a:,} × {n_b:,} rows, {len(self.links):,} links)"

    @property
    def sizes(self) -> tuple[int, int]:
        """Rows of A and of B that are known."""
        return self.knowledge.sides[0].size, self.knowledge.sides[1].size

    @classmethod
    @shows_progress
    @takes_threads
    def fit(
        cls,
        a: Source,
        b: Source,
        *,
        links: Links | None = None,
        payload_a: Any = None,
        payload_b: Any = None,
        force: bool = False,
        **options: Any,
    ) -> Linker:
        """Link two collections, and learn from the links how new rows are to be judged.

        Parameters
        ----------
        a, b : array of shape (n, d), frame, Collection, path or URL
            The two collections.
        links : Links, optional
            Links between them that were found before: nothing is linked again.
        payload_a, payload_b : path, frame, mapping or (n,) titles, optional
            As for `link`.
        force : bool
            Go on although these are not the vectors that were linked.
        **options
            Options of `link`: seeds, anchors, device, random_state, memory, threads, progress and so on. The method is
            "span", one-to-one.
        """
        if options.get("method", "span" if links is None else links.summary.method) != "span":
            raise InputError("A linker for new rows is fitted by method 'span'; leave the method out, or link with it.")
        chosen = options.get("options")
        if not all(options.get(name, getattr(chosen, name, True)) for name in ("one_to_one", "centred")):
            raise InputError("A linker for new rows is one-to-one and centred; leave those options as they are.")
        progress = options.get("progress")
        reads = options.get("seeds_by") is not None
        left = open_collection(a, payload=reads if payload_a is None else payload_a, progress=progress)
        right = open_collection(b, payload=reads if payload_b is None else payload_b, progress=progress)
        if links is None:
            links = link(left, right, **options)
        else:
            check_links(links, left, right, force=force)
        if links.summary.verdict == NOT_LINKABLE:
            reasons = " ".join(links.summary.reasons)
            raise InputError(f"The collections do not link, so nothing is known that new rows could follow: {reasons}")
        return cls.learned(links, left, right, (a, b), **options)

    @classmethod
    @takes_threads
    def learned(
        cls,
        links: Links,
        left: Collection,
        right: Collection,
        sources: Sequence[Any] = (None, None),
        **options: Any,
    ) -> Linker:
        """The linker of links that were found between two opened collections.

        sources: what the collections were opened from. options: as those of `fit`.
        """
        random_state = options.get("random_state", 0)
        tell(options.get("progress"), "learning", len(links))
        prepared = prepare(left, skip_zero=True, side="A"), prepare(right, skip_zero=True, side="B")
        groups = grouped(*prepared)
        plain = SpanOptions()
        clouds = placed_clouds(*groups.clouds, "cpu", options.get("memory"), k=plain.k, ridge=plain.ridge)
        knowledge = learn(links, clouds, *groups.clouds, random_state)
        unmarked = links.told(replace(links.summary, vectors=None))  # which were looked at before
        # the blend is small, and of all kinds the one whose neighbours agree best with the partners' where there are
        # more links than dimensions (docs/merging.md)
        how: dict[str, Any] = {"map": "blend", "check": False, "random_state": random_state}
        onward, back = (Translator.fit(unmarked, left, right, reverse=each, **how) for each in (False, True))
        kept = plain_json({name: value for name, value in options.items() if name in LINKING})
        known = [*map(_remembered, sources)], [*map(_ids_file, (left, right))]
        return cls(links, knowledge, (onward, back), *known, kept, ([left], [right]))

    @shows_progress
    @takes_threads
    def match(
        self,
        new: Source,
        *,
        side: str = "a",
        against: Source | None = None,
        skip_zero: bool = False,
        threads: int | None = None,
        progress: ProgressListener | bool | None = None,
    ) -> Links:
        """Link new rows with the other collection, using what the fit has learned. One row is enough.

        Nothing is fitted, and the linker does not change. If there are many new rows, the share of them that have a
        partner is estimated from them; if there are few, it is taken from the fit. A batch that was added before gets
        its present links. Copies of known rows get no links, and are counted.

        Parameters
        ----------
        new : array of shape (m, d), frame, Collection, path or URL
            Rows that are not in their collection yet.
        side : {"a", "b"}
            The side that they belong to.
        against : array, frame, Collection, path or URL, optional
            The other collection as it is now. By default the one in memory, or opened from where it was.
        skip_zero : bool
            Leave out new rows that are zero instead of refusing them.
        threads : int, optional
            Threads on the CPU, as for `link`. The links are the same.
        progress : callable or True, optional
            Called with every step. True shows them.

        Returns
        -------
        Links
            Of rows of `new` with rows of B (side "a"), or of rows of A with rows of `new` (side "b"). The column
            `displaces` of the evidence names the row that the partner was linked with so far, −1 for none.
            `summary.copies` counts the new rows that are copies of known ones.
        """
        at, batch = side_of(side), open_collection(new, payload=False)
        known = self.knows(batch, side=side)
        if known is not None:
            return of_batch(self.links, self.knowledge, at, known)
        entered = self._entered(at, batch, skip_zero)
        if against is not None:
            self._hold(1 - at, against)
        return as_links(self.links, self.knowledge, at, self._judged(at, entered, heard(progress)))

    @shows_progress
    @takes_threads
    def update(
        self,
        *,
        new_a: Source | None = None,
        new_b: Source | None = None,
        a: Source | None = None,
        b: Source | None = None,
        refit: bool | str = "auto",
        skip_zero: bool = False,
        threads: int | None = None,
        progress: ProgressListener | bool | None = None,
    ) -> Linker:
        """Add new rows after the known ones, and their links to `links`.

        A known link is dropped if its row on the other side has a better partner among the new rows. The linker changes
        and is returned.

        Parameters
        ----------
        new_a, new_b : array, frame, Collection, path or URL, optional
            New rows of either side, or of both. A batch that was added before is not added again.
        a, b : array, frame, Collection, path or URL, optional
            The collections without the new rows, if they are neither in memory nor where they were: B for new rows of
            A, A for new rows of B, both to fit again.
        refit : {"auto", True, False}
            Whether to link all rows again from the links so far, which needs both collections. "auto" does so once
            enough rows have come since the last fit, if both collections are there.
        skip_zero, threads, progress
            As for `match`.
        """
        if new_a is None and new_b is None:
            raise InputError("There are no new rows; give new_a, new_b or both.")
        if refit not in (True, False, "auto"):
            raise InputError(f"refit is {refit!r}; it is True, False or 'auto'.")
        progress = heard(progress)
        for at, source in enumerate((a, b)):
            if source is not None:
                self._hold(at, source)
        given = [(at, new) for at, new in enumerate((new_a, new_b)) if new is not None]
        batches = [(at, open_collection(new, payload=False)) for at, new in given]
        batches = [(at, batch) for at, batch in batches if self.knows(batch, side=SIDES[at]) is None]
        for at, batch in batches:  # all is checked before anything changes
            self._entered(at, batch, skip_zero)
            self._check_taken_in(batch, at)
        for at in (0, 1) if refit is True else sorted(1 - at for at, _ in batches):
            self._whole(at, progress)
        for at, batch in batches:
            self._take_in(at, batch, progress)
        sizes = zip(self.knowledge.sides, self.knowledge.fitted_sizes, strict=True)
        has_grown = any(len(known) >= 1.25 * fitted for known, fitted in sizes)  # since the last fit
        if refit is True or (refit == "auto" and batches and has_grown and all(self._parts)):
            self._refit(progress)
        return self

    @shows_progress
    @takes_threads
    def match_and_update(
        self,
        new: Source,
        *,
        side: str = "a",
        against: Source | None = None,
        skip_zero: bool = False,
        threads: int | None = None,
        progress: ProgressListener | bool | None = None,
    ) -> Links:
        """Add new rows, and return their links as `match` does.

        If `new` was added before, nothing changes, and its present links are returned. So it is safe to run it again.
        """
        at = side_of(side)
        new = open_collection(new, payload=False)  # once: it is looked at three times
        if against is not None:
            self._hold(1 - at, against)
        new_a, new_b = (new, None) if at == 0 else (None, new)
        self.update(new_a=new_a, new_b=new_b, skip_zero=skip_zero, progress=progress)
        return self.match(new, side=side)  # what was taken in is known

    predict, partial_fit = match, update  # what scikit-learn calls these

    def translate(self, x: np.ndarray, *, side: str = "a") -> np.ndarray:
        """Translate vectors (m, d) of one side's model into the other's, float32. `side` is where they come from.
        """
        return self.translators[side_of(side)].transform(x)

    def knows(self, new: Source, *, side: str = "a") -> slice | None:
        """The rows that a batch of one side became, where `new` was taken in before; else None."""
        at, batch = side_of(side), open_collection(new, payload=False)
        part, (_, *later) = Part.of(batch), self.knowledge.sides[at].batches()
        rows = next((rows for each, rows in reversed(later) if each == part), None)
        return rows if rows is not None and self._names_fit(batch, at, rows) else None

    def describe(self) -> dict[str, Any]:
        """What is known of the linker as a whole, ready for JSON."""
        knowledge, sides = self.knowledge, {}
        for at, (name, known) in enumerate(zip(SIDES, knowledge.sides, strict=True)):
            sides[name] = {
                "source": self.sources[at],
                "ids_from": self.ids_from[at],
                "dimension": len(known.mean),
                "rows": known.size,
                "parts": [asdict(part) for part in known.parts],
            }
        return {
            "format": FORMAT,
            "version": __version__,
            "calibration": CALIBRATION_VERSION,
            **sides,
            "k": knowledge.k,
            "overlap": knowledge.overlap,
            "fitted_sizes": list(knowledge.fitted_sizes),
            "model": knowledge.model.plain(),
            "options": self.options,
        }

    def save(self, path: str | Path) -> None:
        """Write a folder, whole or not at all; it replaces a linker, unless another run changed that after `load`."""
        path, place = Path(path), os.path.realpath(path)
        with alone(path), folder_written_whole(path, may_replace=(PLAIN, *SEALED).__contains__) as new:
            known = self._folders.get(place)
            if known is not None and path.exists() and known != digest((path / PLAIN).read_text(encoding="utf-8")):
                raise OutputError(
                    f"{path} was changed by another run meanwhile, and stays as that left it; run the same command "
                    "again (in Python: load it and update it again)."
                )
            for name, arrays in _tensors(self.knowledge).items():
                write_tensors(new / name, arrays, {})
            self.links.save(new / LINKS)
            for name, translator in zip(TRANSLATORS, self.translators, strict=True):
                translator.save(new / name)
            plain = {**self.describe(), "fingerprint": _seal(new)}
            text = json.dumps(plain, indent=2, ensure_ascii=False) + "\n"
            (new / PLAIN).write_text(text, encoding="utf-8")
        self._folders[place] = digest(text)

    @classmethod
    def load(cls, path: str | Path) -> Linker:
        """The linker that was saved in a folder. The collections are opened when they are needed."""
        path = Path(path)
        with unchanged(path), readable(f"{path} is not a sound linker", "check the name, or save it again"):
            text = (path / PLAIN).read_text(encoding="utf-8")
            plain = json.loads(text)
            made = plain["format"], plain["calibration"]
            if made != (FORMAT, CALIBRATION_VERSION):
                raise InputError(
                    f"{path} has the format {made[0]} and the calibration {made[1]}, and this version reads {FORMAT} "
                    f"and {CALIBRATION_VERSION}; link again from its links (veclink link A B --continue "
                    f"{path / LINKS} -o … --save-linker …), or use another version of veclink."
                )
            if plain["fingerprint"] != _seal(path):
                raise InputError(f"{path} is not a sound linker: its files were not written together; save it again.")
            sources, ids_from = ([plain[side].get(name) for side in SIDES] for name in ("source", "ids_from"))
            onward, back = (Translator.load(path / name) for name in TRANSLATORS)
            folders = {os.path.realpath(path): digest(text)}
            links, knowledge, options = Links.load(path / LINKS), _read_knowledge(plain, path), plain["options"]
            return cls(links, knowledge, (onward, back), sources, ids_from, options, _folders=folders)

    def _entered(self, side: int, batch: Collection, skip_zero: bool) -> Cloud:
        """New rows in the geometry of their side: at least one, of its dimension, none zero, none by a known id."""
        mean, label, name = self.knowledge.sides[side].mean, f"The new rows ({batch.name})", "AB"[side]
        if not len(batch):
            raise InputError(f"{label} are none; give at least one.")
        if batch.dimension != len(mean):
            raise InputError(
                f"{label} have {batch.dimension:,} numbers each, and side {name} of the linker has {len(mean):,}; "
                "check the side (--side) and the model."
            )
        zero, _ = inspected(batch, label)
        if len(zero) and not skip_zero:
            raise InputError(
                f"{label} have zero vectors, which have no direction, in row {named(zero)}; remove them, or skip them "
                "with skip_zero (--skip-zero)."
            )
        ids = self._judged_ids(side)
        if ids is not None and batch.ids is not None:  # each would be an object twice
            known = np.isin(batch.ids.astype(str), ids.astype(str))
            if known.any():
                raise InputError(
                    f"{batch.name} has rows with ids that side {name} has already: {named(batch.ids[known])}; give the "
                    "new rows alone, or a batch just as it came before."
                )
        return Cloud(batch, np.delete(np.arange(len(batch)), zero), mean)

    def _check_taken_in(self, batch: Collection, side: int) -> None:
        """Refuse new rows that cannot be taken in: without ids where their side has some, or known already."""
        name = SIDES[side]
        if (self.links.ids_a, self.links.ids_b)[side] is not None and batch.ids is None:
            raise InputError(
                f"Side {name.upper()} has ids, and {batch.name} has none; give the new rows ids (--payload-{name} FILE "
                "with a column `id`; in Python open_collection(…, payload=FILE))."
            )
        if batch.ids is not None and self._judged_ids(side) is not None:
            return
        copies = int(np.isin(marks_of(batch), self.knowledge.sides[side].marks).sum())
        if 2 * copies >= len(batch):  # fewer are other objects with the same numbers
            raise InputError(
                f"{copies:,} of the {plural(len(batch), 'row')} of {batch.name} are copies of rows that side "
                f"{name.upper()} has already; give the new rows alone, or a batch just as it came before."
            )

    def _judged_ids(self, side: int) -> np.ndarray | None:
        """The ids of one side of all judged pairs."""
        every = self.links.considered
        return (every.ids_a, every.ids_b)[side]

    def _names_fit(self, batch: Collection, side: int, rows: slice) -> bool:
        """Whether the rows of judged pairs in this range have the ids that the batch gives them."""
        ids = self._judged_ids(side)
        if ids is None or batch.ids is None:
            return True
        column = self.links.considered.pairs[:, side]
        inside = (column >= rows.start) & (column < rows.stop)
        return np.array_equal(ids[inside].astype(str), batch.ids[column[inside] - rows.start].astype(str))

    def _whole(self, side: int, progress: ProgressListener | None = None) -> Collection:
        """All rows of one side: from memory, or opened where it was; else an error says what is needed."""
        parts, source, name = self._parts[side], self.sources[side], "AB"[side]
        if len(parts) > 1:  # int8 becomes what it means
            rows = [part.vectors if part.scale is None else numbers(part, slice(None)) for part in parts]
            ids = [part.ids for part in parts if part.ids is not None]
            every = np.concatenate(ids) if len(ids) == len(parts) else None
            parts[:] = [Collection.from_array(np.concatenate(rows), ids=every, name=parts[0].name)]
        elif not parts:
            how = f"give side {name} (against=, or a= and b= of update; --against on the command line)"
            if source is None:
                raise InputError(
                    f"The vectors of side {name} are not part of the linker, and were given as an array; {how}."
                )
            try:
                opened = self._opened(side, source, progress)
            except VeclinkError as error:
                raise InputError(
                    f"The vectors of side {name} were in {source}, which cannot be opened ({error}); {how}."
                ) from error
            self._hold(side, opened)
        return parts[0]

    def _opened(self, side: int, source: Source, progress: ProgressListener | None = None) -> Collection:
        """The collection of one side, with the ids that its rows were known by, and without payload."""
        collection, file = open_collection(source, payload=False, progress=progress), self.ids_from[side]
        if file is None or collection.ids is not None:
            return collection
        try:
            return replace(with_payload(collection, file), payload=None)
        except VeclinkError as error:
            raise InputError(
                f"The ids of side {'AB'[side]} came from {file}, which does not name these rows ({error}); give a file "
                f"that names all of them, --payload-{SIDES[side]} FILE beside --against (in Python: "
                "against=open_collection(…, payload=FILE)), or a collection that has ids itself."
            ) from error

    def _hold(self, side: int, source: Source) -> None:
        """Use this collection as the one of a side, once it is sure that it is."""
        collection = self._opened(side, source)
        self.knowledge.sides[side].check(collection, "AB"[side])
        if not self._names_fit(collection, side, slice(0, len(collection))):  # links would name others
            raise InputError(
                f"{collection.ids_from or collection.name} gives the rows of side {'AB'[side]} other ids than they had "
                "when they were linked; give them with those ids, or link again."
            )
        self._parts[side][:] = [collection]
        place = _remembered(source)
        if place is not None:
            self.sources[side], self.ids_from[side] = place, _ids_file(collection)
        self._others.pop(side, None)

    def _judged(self, side: int, entered: Cloud, progress: ProgressListener | None) -> Judged:
        """New rows of one side, and how probable their pairs with rows of the other are."""
        other = 1 - side
        if other not in self._others:
            whole, known = self._whole(other), self.knowledge.sides[other]
            cloud = Cloud(whole, known.rows, known.mean)
            self._others[other] = cloud, signatures_of(self.knowledge, other, cloud)
        tell(progress, "matching", len(entered))
        return judge(self.knowledge, side, entered, *self._others[other])

    def _take_in(self, side: int, batch: Collection, progress: ProgressListener | None) -> None:
        entered = self._entered(side, batch, True)  # `update` has refused zero vectors
        judged = self._judged(side, entered, progress)
        self.links, self.knowledge = taken_in(self.links, self.knowledge, side, judged)
        if self._parts[side]:
            self._parts[side].append(batch)
        if len(entered) < len(batch):  # the next fit has to leave them out, too
            self.options["skip_zero"] = True
        self._others.clear()

    def _refit(self, progress: ProgressListener | None) -> None:
        """Link all rows again from the links that are known."""
        left, right = (self._whole(at, progress) for at in (0, 1))
        options = {**self.options, "progress": progress}
        links = link(left, right, continued=self.links, **options)
        links = links.told(replace(links.summary, found=self.links.summary.found))
        again = self.learned(links, left, right, self.sources, **options)
        first, second = (
            replace(side, parts=tuple(replace(part, account=None) for part in old.parts))
            for side, old in zip(again.knowledge.sides, self.knowledge.sides, strict=True)
        )
        self.links, self.translators = links, again.translators
        self.knowledge = replace(again.knowledge, sides=(first, second))
        self._others.clear()


def check_place(path: Path) -> None:
    """Refuse a place where the folder of a linker could not be written, or would replace something else."""
    if not path.resolve().parent.is_dir():
        raise InputError(f"The folder {path.resolve().parent} for the linker does not exist; make it first.")
    check_replaceable(path, (PLAIN, *SEALED).__contains__)


def _remembered(source: Any) -> str | None:
    """The path or URL of a collection, as it can be kept: without passwords, and a path in full.

    None for what is in memory, unless a file of payload names its rows: then that of its vectors is known, too.
    """
    if isinstance(source, Collection) and _ids_file(source) is not None and Path(source.name).is_file():
        source = source.name
    if not isinstance(source, (str, Path)):
        return None
    path = Path(source)
    return str(path.resolve()) if path.exists() else without_secrets(str(source))


def _ids_file(collection: Collection) -> str | None:
    """The file that gave a collection its ids, in full; None where its ids are its own, or came from memory."""
    file = collection.ids_from
    return None if file is None or not Path(file).is_file() else _remembered(file)


def _tensors(knowledge: Knowledge) -> dict[str, dict[str, np.ndarray]]:
    """The arrays of each file; vectors and maps as float16, which they were rounded to."""
    every = [*knowledge.maps, *([] if knowledge.whole is None else [knowledge.whole])]
    maps = {
        f"map{place}_{side}": projection.astype(np.float16)
        for place, pair in enumerate(every)
        for side, projection in zip(SIDES, pair, strict=True)
    }
    left, right = (vectors.astype(np.float16) for vectors in knowledge.vectors)
    files = {MAPS: maps, ANCHORS: {"rows": knowledge.nearby, "left": left, "right": right}}
    for name, known in zip(ROWS, knowledge.sides, strict=True):
        files[name] = {each: array for each, array in vars(known).items() if each != "parts"}
        files[name] |= {"backdrop": known.backdrop.astype(np.float16), "marks": known.marks.view(np.int64)}
    return files


def _read_knowledge(plain: dict[str, Any], path: Path) -> Knowledge:
    """What `_tensors` and `Linker.describe` say."""
    maps, anchors, *rows = (_arrays(path / name) for name in (MAPS, ANCHORS, *ROWS))
    every = [(maps[f"map{place}_a"], maps[f"map{place}_b"]) for place in range(len(maps) // 2)]
    sides = [
        KnownSide(
            parts=tuple(Part(**part) for part in plain[side]["parts"]),
            marks=arrays.pop("marks", np.empty(0, np.int64)).view(np.uint64),
            **arrays,
        )
        for side, arrays in zip(SIDES, rows, strict=True)
    ]
    is_large = len(sides[0].scales) > 0
    told = plain["model"]
    weights, centre, scale = (np.array(told[name], float) for name in ("weights", "centre", "scale"))
    no_decoys = np.empty(0)
    size_a, size_b = plain["fitted_sizes"]
    return Knowledge(
        sides=(sides[0], sides[1]),
        maps=every[:-1] if is_large else every,
        whole=every[-1] if is_large else None,
        nearby=anchors["rows"],
        vectors=(anchors["left"], anchors["right"]),
        model=Model(tuple(told["features"]), told["base"], weights, centre, scale, no_decoys, no_decoys),
        k=plain["k"],
        overlap=plain["overlap"],
        fitted_sizes=(size_a, size_b),
    )


def _arrays(path: Path) -> dict[str, np.ndarray]:
    """The tensors of a file; what was kept as float16 is computed with as float32."""
    arrays = {name: np.array(tensor) for name, tensor in read_tensors(path)[0].items()}
    return {name: each.astype(np.float32) if each.dtype == np.float16 else each for name, each in arrays.items()}


def _seal(folder: Path) -> str:
    """A digest of all files but the one that holds it: files of two linkers, or one changed, do not make a linker."""
    made = hashlib.sha256()
    for name in SEALED:
        with (folder / name).open("rb") as file:
            made.update(hashlib.file_digest(file, "sha256").digest())
    return made.hexdigest()[:16]
