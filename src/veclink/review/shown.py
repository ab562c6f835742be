"""What a person sees of a link: both payloads field by field, what else was considered, and why it was linked."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np

from veclink.confidence.evidence import neighbourhood_evidence, score_evidence
from veclink.confidence.explanations import in_words
from veclink.data.collection import Collection
from veclink.data.links import Links
from veclink.data.titles import title_column

LONGEST = 4000  # characters of a value; the rest is left out, and that is said


def side(collection: Collection, row: int) -> dict[str, Any]:
    """One object: its id (or row), its headline, which is its title or else its id, and its payload as text."""
    values = {} if collection.payload is None else collection.payload.slice(row, 1).to_pylist()[0]
    payload = {str(name): _text(value) for name, value in values.items()}
    name = str(row if collection.ids is None else collection.ids[row])
    title = payload.get(title_column(collection) or "")
    return {"row": row, "name": name, "headline": title or name, "payload": payload}


def fields(left: dict[str, Any], right: dict[str, Any]) -> list[dict[str, Any]]:
    """The fields of both sides next to each other: what both are called by first, then those of A, then B's own."""
    a, b = left["payload"], right["payload"]
    called = left["headline"], right["headline"]
    names = sorted(dict.fromkeys((*a, *b)), key=lambda name: (a.get(name), b.get(name)) != called)
    return [{"name": name, "a": a.get(name), "b": b.get(name)} for name in names]


def differing(own: str, other: str | None) -> list[tuple[str, bool]]:
    """The text `own` in pieces, each with whether it is a word that `other` does not have; no word is without one."""
    if not other or own == other:
        return [(own, False)]
    there = {_plain(word) for word in other.split()}
    return [(piece, bool(_plain(piece)) and _plain(piece) not in there) for piece in re.split(r"(\s+)", own)]


def rivals(links: Links, index: int, a: Collection, b: Collection) -> list[dict[str, Any]]:
    """The best other partner on either side, where the linker recorded one, and the surest link that it has itself."""
    found = []
    for letter, own, collection, other in (("a", 0, a, b), ("b", 1, b, a)):
        row = int(links.evidence.get(f"rival_{letter}", np.full(len(links), -1))[index])
        if row < 0:
            continue
        elsewhere = (links.pairs[:, own] == row) & (links.pairs[:, 1 - own] != links.pairs[index, 1 - own])
        linked = [
            {"headline": side(other, int(links.pairs[i, 1 - own]))["headline"], "probability": links.probability[i]}
            for i in np.flatnonzero(elsewhere)[:1]
        ]
        score = (
            _number(links.evidence[f"rival_{letter}_score"][index])
            if f"rival_{letter}_score" in links.evidence
            else None
        )
        found.append({"side": letter, **side(collection, row), "score": score, "linked": linked[0] if linked else None})
    return found


def why(links: Links, index: int) -> list[dict[str, str]]:
    """The evidence as a few rows of words and numbers."""
    known = links.explain(index)
    rows = [("Against it", in_words(links, index))]
    votes = ("Votes", f"{known['votes']} of {known['views']} views" if known.get("views") else "")
    for kinds, after in ((score_evidence(), votes), (neighbourhood_evidence(), ("", ""))):
        for entry in kinds:
            value = _number(known.get(entry.name))
            if entry.card is not None and value is not None:
                rows.append((entry.card_label or entry.label, entry.card(value, known)))
        rows.append(after)
    rows.append(("Given", "this pair was one of the seeds" if known.get("given") else ""))
    return [{"what": what, "value": value} for what, value in rows if value]


def nearest(links: Links, index: int, a: Collection, b: Collection) -> list[dict[str, Any]]:
    """The links closest to this one on both sides: if they are right, and near, this one is likelier to be."""
    found = []
    for place in (1, 2, 3):
        names = [f"near{place}_{what}" for what in ("a", "b", "similarity")]
        values = [links.evidence[name][index] for name in names if name in links.evidence]
        if len(values) == 3 and min(values[:2]) >= 0:
            left, right = (side(each, int(row))["headline"] for each, row in zip((a, b), values[:2], strict=True))
            found.append({"a": left, "b": right, "similarity": _number(values[2])})
    return found


def _text(value: Any) -> str | None:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    text = str(value)
    if isinstance(value, bytes):
        text = f"({len(value):,} bytes)"
    elif isinstance(value, (dict, list)):
        text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} … ({len(text):,} characters)"


def _plain(word: str) -> str:
    return "".join(each for each in word.lower() if each.isalnum())


def _number(value: Any) -> float | None:
    """A plain number, None where it is missing or not a number."""
    return None if value is None or not math.isfinite(value) else float(value)
