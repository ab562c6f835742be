"""What a person sees of a link: both payloads field by field, what else was considered, and why it was linked."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np

from veclink.confidence.evidence import Evidence, neighbourhood_evidence, score_evidence
from veclink.confidence.explanations import in_words
from veclink.data.collection import Collection
from veclink.data.links import Links
from veclink.data.titles import title_column

LONGEST = 4000  # characters of a value; the rest is left out, and that is said
NEAREST = 3

Row = dict[str, str | None]


def payload_row(collection: Collection, row: int) -> Row:
    """The payload of a row as text, in the order of its columns; empty where the collection has none."""
    if collection.payload is None:
        return {}
    values = collection.payload.slice(row, 1).to_pylist()[0]
    return {str(name): _text(value) for name, value in values.items()}


def fields(left: dict[str, Any], right: dict[str, Any]) -> list[dict[str, Any]]:
    """The fields of both sides next to each other: what both are called by first, then those of A, then B's own."""
    a, b = left["payload"], right["payload"]
    named = (left["headline"], right["headline"])
    rows = [
        {"name": name, "a": a.get(name), "b": b.get(name), "headline": (a.get(name), b.get(name)) == named}
        for name in dict.fromkeys((*a, *b))
    ]
    return sorted(rows, key=lambda row: not row["headline"])


def compared(fields: list[dict[str, Any]]) -> str:
    """One line that saves comparing what is equal."""
    if not fields:
        return "These collections have no payload: the ids are all there is to see."
    both = [field for field in fields if field["a"] is not None and field["b"] is not None]
    unlike = [field["name"] for field in both if field["a"] != field["b"]]
    if not both:
        return "No field is filled on both sides."
    if not unlike:
        one = f"{both[0]['name']} is" if len(both) == 1 else f"All {len(both)} fields are"
        return f"{one} the same on both sides."
    return "No field is the same on both sides." if len(unlike) == len(both) else f"Different: {', '.join(unlike)}."


def differing(own: str, other: str | None) -> list[tuple[str, bool]]:
    """The text `own` in pieces, each with whether it is a word that `other` does not have; no word is without one."""
    if not other or own == other:
        return [(own, False)]
    there = {_plain(word) for word in other.split()}
    return [(piece, bool(_plain(piece)) and _plain(piece) not in there) for piece in re.split(r"(\s+)", own)]


def side(collection: Collection, row: int) -> dict[str, Any]:
    """One object: its id (or row), its headline, which is its title or else its id, and its payload."""
    payload = payload_row(collection, row)
    name = str(row if collection.ids is None else collection.ids[row])
    title = payload.get(title_column(collection) or "")
    return {"row": row, "name": name, "headline": title or name, "payload": payload}


def rivals(links: Links, index: int, a: Collection, b: Collection) -> list[dict[str, Any]]:
    """The best other partner on either side, where the linker recorded one, and whether it is linked itself."""
    found = []
    for letter, collection in (("b", b), ("a", a)):
        column = links.evidence.get(f"rival_{letter}")
        row = -1 if column is None else int(column[index])
        if row < 0:
            continue
        score = links.evidence.get(f"rival_{letter}_score")
        found.append(
            {
                "side": letter,
                **side(collection, row),
                "score": None if score is None else _number(score[index]),
                "linked": _linked_with(links, index, letter, row, a, b),
            }
        )
    return found


def why(links: Links, index: int) -> list[dict[str, str]]:
    """The evidence as a few rows of words and numbers."""
    known = links.explain(index)
    rows = []
    if doubt := in_words(links, index):
        rows.append({"what": "Against it", "value": doubt})
    rows += _card_rows(score_evidence(), known)
    if known.get("views"):
        rows.append({"what": "Votes", "value": f"{known['votes']} of {known['views']} views"})
    rows += _card_rows(neighbourhood_evidence(), known)
    if known.get("given"):
        rows.append({"what": "Given", "value": "this pair was one of the seeds"})
    return rows


def _card_rows(entries: tuple[Evidence, ...], known: dict[str, Any]) -> list[dict[str, str]]:
    """What these kinds of evidence say of a link, those that it has and that a card shows."""
    rows = []
    for entry in entries:
        value = _number(known.get(entry.name))
        if entry.card is not None and value is not None:
            rows.append({"what": entry.card_label or entry.label, "value": entry.card(value, known)})
    return rows


def nearest(links: Links, index: int, a: Collection, b: Collection) -> list[dict[str, Any]]:
    """The links closest to this one on both sides: if they are right, and near, this one is likelier to be."""
    found = []
    for place in range(1, NEAREST + 1):
        rows = [links.evidence.get(f"near{place}_{letter}") for letter in "ab"]
        similarity = links.evidence.get(f"near{place}_similarity")
        if rows[0] is None or rows[1] is None or similarity is None:
            break
        left, right = side(a, int(rows[0][index])), side(b, int(rows[1][index]))
        found.append({"a": left["headline"], "b": right["headline"], "similarity": _number(similarity[index])})
    return found


def _linked_with(
    links: Links, index: int, letter: str, row: int, a: Collection, b: Collection
) -> dict[str, Any] | None:
    """The surest link that a rival itself has, other than with this link's own object."""
    own, other = (0, 1) if letter == "a" else (1, 0)
    places = np.flatnonzero(links.pairs[:, own] == row)
    places = places[links.pairs[places, other] != links.pairs[index, other]]
    if not len(places):
        return None
    partner = side(b if letter == "a" else a, int(links.pairs[places[0], other]))
    return {"headline": partner["headline"], "probability": float(links.probability[places[0]])}


def _text(value: Any) -> str | None:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, str):
        text = value
    elif isinstance(value, bytes):
        text = f"({len(value):,} bytes)"
    elif isinstance(value, (dict, list)):
        text = json.dumps(value, ensure_ascii=False, default=str)
    else:
        text = str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} … ({len(text):,} characters)"


def _plain(word: str) -> str:
    return "".join(each for each in word.lower() if each.isalnum())


def _number(value: Any) -> float | None:
    """A plain number, None where it is missing or not a number."""
    return None if value is None or not math.isfinite(value) else float(value)
