"""The review of links: what is asked next, what a person sees of a link, and what the answers come to.

The path of an answer: `page` (the browser) → `server` (who may ask) → `Review` → `journal` (on disk before the page is
told). The way back: `Review` → `templates` → htmx, which puts each piece in its place on the page. `estimate` orders
the links and says what the answers mean for all of them. `again` links again with what was accepted.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from typing import Any

import numpy as np

from veclink.data.collection import Collection
from veclink.data.links import Links
from veclink.data.words import title_column
from veclink.errors import InputError
from veclink.files.tables import csv_text
from veclink.report.words import advice_without_links
from veclink.review.estimate import DOUBTFUL, LABELS, banded, count_bands, estimate
from veclink.review.journal import ANSWERS, Journal, Pair
from veclink.uses.linked_pairs import check_links


class Review:
    """Links, the collections behind them, and the journal of answers."""

    def __init__(self, links: Links, a: Collection, b: Collection, journal: Journal, *, name: str = "links") -> None:
        self.a, self.b, self.journal = a, b, journal
        self.use(links, name)

    def use(self, links: Links, name: str) -> None:
        """Review these links, called `name`, from now on; answers to pairs that are among them count at once."""
        check_links(links, self.a, self.b, force=True)  # a page of wrong payloads would be believed
        self.links, self.name = links, name
        self._band, self._queues = banded(links)
        self._place = {(x, y): place for place, (x, y) in enumerate(links.pairs.tolist())}
        none = np.zeros(len(links), bool)
        self.before = estimate(count_bands(self._band, links.probability, none, none))

    def next(self, order: str = "doubtful", *, skipped: bool = False) -> dict[str, Any] | None:
        """The next open (or skipped) link; None when there is none. The longest skipped comes first."""
        if skipped:
            skips = (pair for pair, each in self.journal.answers().items() if each.answer == "skip")
            wanted = [self._place[pair] for pair in skips if pair in self._place]
        else:
            queue = self._queues[order]
            wanted = queue[self._answered()[queue] < 0].tolist()
        return self.link(wanted[0]) if wanted else None

    def link(self, place: int) -> dict[str, Any]:
        """All that the page shows of one link."""
        if not 0 <= place < len(self.links):
            raise InputError(f"There is no link {place}; there are {len(self.links):,}, counted from 0.")
        known = self.links.explain(place)
        pair = known["row_a"], known["row_b"]
        answer = self.journal.answers().get(pair)
        left, right = side(self.a, pair[0]), side(self.b, pair[1])
        nearest = []
        for n in (1, 2, 3):
            near = known.get(f"near{n}_a", -1), known.get(f"near{n}_b", -1)
            if min(near) >= 0:
                nearest.append((*self._headlines(near), known.get(f"near{n}_similarity", math.nan)))
        return {
            "answer": None if answer is None else answer.answer,
            "band": LABELS[self._band[place]],
            "probability": known["probability"],
            "a": left,
            "b": right,
            "fields": fields(left, right),
            "rivals": self._rivals(known, pair),
            "why": why(self.links, place),
            "nearest": nearest,
            "others": [
                ("AB"[own], self._headlines(other)[1 - own])
                for other in self.journal.accepted()
                for own in (0, 1)
                if other[own] == pair[own] and other != pair
            ],
        }

    def _headlines(self, pair: Pair) -> tuple[str, str]:
        return side(self.a, pair[0])["headline"], side(self.b, pair[1])["headline"]

    def _rivals(self, known: dict[str, Any], pair: Pair) -> list[dict[str, Any]]:
        """The best other partner on either side, where one is known, and the best link that it has itself."""
        found, pairs = [], self.links.pairs
        for own, letter in enumerate("ab"):
            row = known.get(f"rival_{letter}", -1)
            if row < 0:
                continue
            elsewhere = np.flatnonzero((pairs[:, own] == row) & (pairs[:, 1 - own] != pair[1 - own]))[:1]
            linked = [(self._headlines(pairs[i].tolist())[1 - own], self.links.probability[i]) for i in elsewhere]
            score = known.get(f"rival_{letter}_score")
            found.append({"side": letter, **side((self.a, self.b)[own], row), "score": score, "linked": linked})
        return found

    def answer(self, pair: Pair, answer: str, instead: str | None = None) -> None:
        """Write down an answer. instead: "a" or "b" takes the rival on that side; the link is thereby rejected."""
        place = self._place.get(pair)
        if place is None:
            raise InputError("This link is not under review any more; load the page again.")
        other = None
        if instead is not None:
            row = self.links.explain(place).get(f"rival_{instead}", -1)
            if row < 0:
                raise InputError(f"No rival is known for this link on the side of {instead.upper()}.")
            answer, other = "reject", (row, pair[1]) if instead == "a" else (pair[0], row)
        self.journal.add(pair, answer, other)

    def undo(self) -> int | None:
        """Take back the last answer; the place of its link, −1 where it has none now, None without an answer."""
        undone = self.journal.undo()
        return None if undone is None else self._place.get(undone, -1)

    def state(self) -> dict[str, Any]:
        """Counts, bands, the estimate after the answers, and the last answers."""
        code = self._answered()
        accepted, rejected, skipped = (code == i for i in range(len(ANSWERS)))
        counts = count_bands(self._band, self.links.probability, accepted, rejected)
        return {
            "next": [] if len(self.links) else advice_without_links(self.links),
            "accepted": int(accepted.sum()),
            "rejected": int(rejected.sum()),
            "skipped": int(skipped.sum()),
            "estimate": estimate(counts),
            "bands": [each for each in zip(LABELS, DOUBTFUL, counts, strict=True) if each[2].links],
            "recent": [
                (self._place.get(each.pair), each.answer, side(self.a, each.pair[0])["headline"])
                for each in list(self.journal.answers().values())[:-9:-1]
            ],
        }  # fmt: skip

    def seed_pairs(self) -> tuple[list[Pair], int]:
        """The accepted pairs and the given ones that were not rejected; and how many accepted ones were left out.

        A row that was accepted with two partners contradicts itself, and seeds may not: those pairs are left out.
        """
        accepted, rejected = self.journal.accepted(), self.journal.rejected()
        left, right = Counter(x for x, _ in accepted), Counter(y for _, y in accepted)
        kept = [(x, y) for x, y in accepted if left[x] == right[y] == 1]
        given = self.links.evidence.get("given", np.zeros(len(self.links))).astype(bool)
        rows = [(x, y) for x, y in self.links.pairs[given].tolist() if x not in left and y not in right]
        return kept + [pair for pair in rows if pair not in rejected], len(accepted) - len(kept)

    def export(self, what: str) -> str:
        """The answers as CSV: "truth", the accepted pairs; "seeds"; "decisions", every answer and taken rival."""
        names, journal = self.journal.names, self.journal
        if what == "decisions":
            answers = journal.answers().values()
            rows = [(*names(each.pair), each.answer) for each in answers]
            rows += [(*names(each.instead), "accept") for each in answers if each.instead is not None]
            return csv_text(("a", "b", "answer"), rows)
        return csv_text(("a", "b"), map(names, journal.accepted() if what == "truth" else self.seed_pairs()[0]))

    def _answered(self) -> np.ndarray:
        """For each link the place of its answer among ANSWERS, −1 without one."""
        code = np.full(len(self.links), -1, np.int8)
        for pair, each in self.journal.answers().items():
            if pair in self._place:
                code[self._place[pair]] = ANSWERS.index(each.answer)
        return code


def side(collection: Collection, row: int) -> dict[str, Any]:
    """One object: its id (or row), its headline, which is its title or else its id, and its payload as text."""
    values = {} if collection.payload is None else collection.payload.slice(row, 1).to_pylist()[0]
    payload = {str(name): _text(value) for name, value in values.items()}
    name = str(row if collection.ids is None else collection.ids[row])
    return {
        "row": row,
        "name": name,
        "headline": payload.get(title_column(collection) or "") or name,
        "payload": payload,
    }


def fields(left: dict[str, Any], right: dict[str, Any]) -> list[tuple[str, str | None, str | None]]:
    """The fields of both sides next to each other: what both are called by first, then those of A, then B's own."""
    a, b = left["payload"], right["payload"]
    both = [(name, a.get(name), b.get(name)) for name in dict.fromkeys((*a, *b))]
    return sorted(both, key=lambda field: field[1:] != (left["headline"], right["headline"]))


def differing(own: str, other: str | None) -> list[tuple[str, bool]]:
    """The text `own` in pieces, each with whether it is a word that `other` does not have; no word is without one."""
    if not other or own == other:
        return [(own, False)]
    there = {_plain(word) for word in other.split()}
    return [(piece, bool(_plain(piece)) and _plain(piece) not in there) for piece in re.split(r"(\s+)", own)]


def why(links: Links, place: int) -> dict[str, str]:
    """What speaks for a link and what against, in words, by what it is about; the page shows its rivals by title."""
    return {about: words for about, words in links[place].explain().items() if not about.startswith("Next best")}


def _text(value: Any) -> str | None:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bytes):
        return f"({len(value):,} bytes)"
    text = json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, (dict, list)) else str(value)
    return text if len(text) <= 4000 else f"{text[:4000]} … ({len(text):,} characters)"


def _plain(word: str) -> str:
    return "".join(each for each in word.lower() if each.isalnum())
