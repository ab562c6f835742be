"""Writing links back into a store: a table of links, or notes on the objects of one side."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from veclink.data.links import Links
from veclink.errors import InputError, named
from veclink.stores.opening import open_target
from veclink.stores.protocol import Id
from veclink.uses.known_rows import side_of


@dataclass(frozen=True)
class Changes:
    """What an export would do, or did: how many links (or notes) are new, changed, removed, and as they should be.

    missing: linked ids that the store does not have; nothing is written for those.
    """

    store: str
    new: int
    changed: int
    removed: int
    same: int
    missing: int = 0
    examples: list[str] = field(default_factory=list)

    @property
    def any(self) -> bool:
        """Whether there is anything to write."""
        return bool(self.new or self.changed or self.removed)


def export_links(links: Links, url: str, *, write: bool = False) -> Changes:
    """Make the table or collection at `url` say just what `links` says; only told, not done, unless `write`.

    The table has a row (a, b, probability) for each link. It is made where it is not there; links in it that are no
    longer among `links` go. Something else under that name is an error.
    """
    with open_target(url, write=write) as store, store.alone() if write else nullcontext():
        with store.errors():
            held = store.links()
        wanted = _wanted(links)
        # by the ids of `wanted` where the two differ only in being text or a number
        names = {(str(a), str(b)): (a, b) for a, b in wanted}
        there = {names.get((str(a), str(b)), (a, b)): value for (a, b), value in (held or {}).items()}
        changes, changed, removed = _compared(store.name, there, wanted)
        changes.examples.extend(f"{a} – {b}: {wanted[a, b]:.3f}" for a, b in changed[:3])
        if write and (changes.any or held is None):
            store.put_links({pair: wanted[pair] for pair in changed}, removed)
        return changes


def annotate(links: Links, url: str, side: str, *, write: bool = False) -> Changes:
    """Note on the objects of the collection at `url`, one side of the links, what each is linked with.

    Two payload fields are set, `veclink_id` and `veclink_probability`; an object that has them and is linked no longer
    loses them. An object with several links gets the most probable one. Only told, not done, unless `write`.
    """
    at = side_of(side)
    wanted: dict[Id, tuple[Id, float]] = {}
    for pair, probability in _wanted(links).items():  # the most probable first
        wanted.setdefault(pair[at], (pair[1 - at], probability))
    with open_target(url, write=write) as store, store.alone() if write else nullcontext():
        if not store.exists():
            raise InputError(f"{store.name} does not exist; the objects to annotate are in a collection.")
        with store.errors():
            held = store.annotations()
        names = {str(each): each for each in held}
        known = {names[str(each)]: note for each, note in wanted.items() if str(each) in names}
        missing = [each for each in wanted if str(each) not in names]
        if wanted and not known:
            raise InputError(
                f"{store.name} has none of the {len(wanted):,} linked ids of side {side}, such as {named(missing)}; "
                "is it the other side?"
            )
        sizes = links.summary.n_a, links.summary.n_b
        other = "ba"[at]
        if len(held) != sizes[at] and len(held) == sizes[1 - at]:  # ids such as row numbers may be found on both
            raise InputError(
                f"{store.name} has {len(held):,} objects, as side {other} of the links, and side {side} has "
                f"{sizes[at]:,}; annotate side {other}, or name the other collection."
            )
        there = {each: (str(linked), share) for each, (linked, share) in held.items() if linked is not None}
        noted = {each: (str(linked), share) for each, (linked, share) in known.items()}
        changes, changed, removed = _compared(store.name, there, noted, len(missing))
        changes.examples.extend(f"{each} → {known[each][0]}: {known[each][1]:.3f}" for each in changed[:3])
        if write and changes.any:
            store.annotate({each: known.get(each) for each in (*changed, *removed)})
        return changes


def _compared(
    name: str, there: Mapping[Any, Any], wanted: Mapping[Any, Any], missing: int = 0
) -> tuple[Changes, list[Any], list[Any]]:
    """What is to be done for a store to say what is wanted: counted, and the keys to write and to take out."""
    changed = [key for key, value in wanted.items() if there.get(key) != value]
    removed = [key for key in there if key not in wanted]
    new = sum(key not in there for key in changed)
    changes = Changes(name, new, len(changed) - new, len(removed), len(wanted) - len(changed), missing)
    return changes, changed, removed


def _wanted(links: Links) -> dict[tuple[Id, Id], float]:
    columns = links.columns()
    a, b = columns["a"].tolist(), columns["b"].tolist()
    return dict(zip(zip(a, b, strict=True), links.probability.tolist(), strict=True))
