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

SIDES = ("a", "b")


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
        if not store.keeps_links:
            raise InputError(f"{store.name} is a kind of store that holds no table of links; choose another.")
        with store.errors():
            held = store.links()
        wanted = _wanted(links)
        # by the ids of `wanted` where the two differ only in being text or a number
        names = {(str(a), str(b)): (a, b) for a, b in wanted}
        there = {names.get((str(a), str(b)), (a, b)): value for (a, b), value in (held or {}).items()}
        changed = {pair: value for pair, value in wanted.items() if there.get(pair) != value}
        removed = [pair for pair in there if pair not in wanted]
        changes = Changes(
            store.name,
            new=sum(pair not in there for pair in changed),
            changed=sum(pair in there for pair in changed),
            removed=len(removed),
            same=len(wanted) - len(changed),
            examples=[f"{a} – {b}: {value:.3f}" for (a, b), value in list(changed.items())[:3]],
        )
        if write and (changes.any or held is None):
            store.put_links(changed, removed)
        return changes


def annotate(links: Links, url: str, side: str, *, write: bool = False) -> Changes:
    """Note on the objects of the collection at `url`, one side of the links, what each is linked with.

    Two payload fields are set, `veclink_id` and `veclink_probability`; an object that has them and is linked no longer
    loses them. An object with several links gets the most probable one. Only told, not done, unless `write`.
    """
    if side not in SIDES:
        raise InputError(f"The side {side!r} is unknown; it is a or b, as in the links.")
    wanted = _notes(links, side)
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
        _check_side(links, held, side, store.name)
        changes: dict[Id, tuple[Id, float] | None] = {}
        counts = dict.fromkeys(("new", "changed", "removed", "same"), 0)
        for each, (linked, probability) in held.items():
            note = known.get(each)
            if note is None:
                if linked is not None:
                    changes[each], counts["removed"] = None, counts["removed"] + 1
                continue
            if linked is not None and str(linked) == str(note[0]) and probability == note[1]:
                counts["same"] += 1
                continue
            changes[each] = note
            counts["new" if linked is None else "changed"] += 1
        if write and changes:
            store.annotate(changes)
        examples = [f"{each} → {note[0]}: {note[1]:.3f}" for each, note in list(changes.items())[:3] if note]
        return Changes(store.name, **counts, missing=len(missing), examples=examples)


def _check_side(links: Links, held: Mapping[Id, Any], side: str, name: str) -> None:
    """Refuse what looks like the other side: ids such as row numbers may be found on both."""
    sizes = {"a": links.summary.n_a, "b": links.summary.n_b}
    other = "b" if side == "a" else "a"
    if len(held) != sizes[side] and len(held) == sizes[other]:
        raise InputError(
            f"{name} has {len(held):,} objects, as side {other} of the links, and side {side} has {sizes[side]:,}; "
            f"annotate side {other}, or name the other collection."
        )


def _wanted(links: Links) -> dict[tuple[Id, Id], float]:
    columns = links.columns()
    a, b = columns["a"].tolist(), columns["b"].tolist()
    return dict(zip(zip(a, b, strict=True), links.probability.tolist(), strict=True))


def _notes(links: Links, side: str) -> dict[Id, tuple[Id, float]]:
    notes: dict[Id, tuple[Id, float]] = {}
    for (a, b), probability in _wanted(links).items():  # the most probable first
        notes.setdefault(*((a, (b, probability)) if side == "a" else (b, (a, probability))))
    return notes
