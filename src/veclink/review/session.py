"""A review: links, the collections behind them, the journal of answers, and what each open page is looking at."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np

from veclink.data.collection import Collection
from veclink.data.links import Links
from veclink.errors import InputError, VeclinkError
from veclink.report.words import advice_without_links
from veclink.review import shown
from veclink.review.bands import ORDERS, Bands, banded
from veclink.review.estimate import count_bands, estimate
from veclink.review.journal import Answer, Journal, Pair
from veclink.uses.linked_pairs import check_links

TAB_LIVES = 90.0  # seconds after its last sign of life during which a page keeps its link to itself
RECENT = 8
OPEN, ACCEPTED, REJECTED, SKIPPED = range(4)
_CODE = {"accept": ACCEPTED, "reject": REJECTED, "skip": SKIPPED}


class Overtaken(VeclinkError):
    """The link was answered elsewhere since this page saw it; nothing was written."""


class Review:
    """Everything the page asks for. All methods may be called from several threads."""

    def __init__(
        self,
        links: Links,
        a: Collection,
        b: Collection,
        journal: Journal,
        *,
        name: str = "links",
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.a, self.b, self.journal = a, b, journal
        self._now = now
        self._lock = threading.RLock()
        self._seen: dict[str, float] = {}
        self._looks_at: dict[str, int] = {}
        self.generation = 0
        self.use(links, name)

    def use(self, links: Links, name: str) -> None:
        """Review these links, called `name`, from now on; answers to pairs that are among them count at once."""
        check_links(links, self.a, self.b)  # a page of wrong payloads would be believed
        with self._lock:
            self.links, self.name = links, name
            self.bands: Bands = banded(links)
            none = np.zeros(len(links), bool)
            unanswered = count_bands(self.bands.of, links.probability, none, none, len(self.bands.labels))
            self._before = estimate(unanswered)
            self.generation += 1
            self._looks_at.clear()
            self._place = {(int(x), int(y)): place for place, (x, y) in enumerate(links.pairs.tolist())}
            self._code = np.zeros(len(links), np.int8)
            for each in self.journal.answers():
                if each.pair in self._place:
                    self._code[self._place[each.pair]] = _CODE[each.answer]

    def next(self, tab: str, order: str = "doubtful", *, skipped: bool = False) -> dict[str, Any] | None:
        """The next open (or skipped) link that no other open page is looking at; None when there is none."""
        if order not in ORDERS:
            raise InputError(f"The order {order!r} is unknown; it is one of {', '.join(ORDERS)}.")
        with self._lock:
            self.greet(tab)
            wanted = self._skipped() if skipped else self._open(order)
            elsewhere = {self._looks_at[other] for other in self._others(tab) if other in self._looks_at}
            place = next((int(place) for place in wanted if place not in elsewhere), None)
            if place is None:
                self._looks_at.pop(tab, None)
                return None
            return self.link(tab, place)

    def link(self, tab: str, place: int) -> dict[str, Any]:
        """All that the page shows of one link; the page is then the one that looks at it."""
        with self._lock:
            if not 0 <= place < len(self.links):
                raise InputError(f"There is no link {place}; there are {len(self.links):,}, counted from 0.")
            self.greet(tab)
            self._looks_at[tab] = place
            pair = self._pair(place)
            answer = self.journal.answer_to(pair)
            left, right = shown.side(self.a, pair[0]), shown.side(self.b, pair[1])
            fields = shown.fields(left, right)
            return {
                "link": place,
                "generation": self.generation,
                "seen": 0 if answer is None else answer.number,
                "answer": None if answer is None else answer.answer,
                "probability": float(self.links.probability[place]),
                "a": left,
                "b": right,
                "fields": fields,
                "compared": shown.compared(fields),
                "rivals": shown.rivals(self.links, place, self.a, self.b),
                "why": shown.why(self.links, place),
                "nearest": shown.nearest(self.links, place, self.a, self.b),
                "notes": self._notes(pair),
            }

    def answer(
        self, tab: str, generation: int, place: int, seen: int, answer: str, instead: str | None = None
    ) -> Answer:
        """Write down an answer, unless the link was answered elsewhere since the page saw it.

        instead: "a" or "b" takes the rival on that side in place of the link, which is thereby rejected.
        """
        with self._lock:
            self.greet(tab)
            if generation != self.generation or not 0 <= place < len(self.links):
                raise Overtaken("Other links are under review since this page was loaded; the answer was not taken.")
            pair = self._pair(place)
            standing = self.journal.answer_to(pair)
            if (0 if standing is None else standing.number) != seen:
                said = (
                    "taken back"
                    if standing is None
                    else {"accept": "accepted", "reject": "rejected"}.get(standing.answer, "skipped")
                )
                raise Overtaken(f"This link was {said} in another tab meanwhile; your answer was not taken.")
            other = None if instead is None else self._rival_pair(place, instead)
            given = self.journal.add(pair, "reject" if instead else answer, tab=tab, instead=other)
            self._code[place] = _CODE[given.answer]
            return given

    def undo(self, tab: str) -> int | None:
        """Take back the last answer that no other open page gave; its link, None where there is nothing to undo."""
        with self._lock:
            self.greet(tab)
            undone = self.journal.undo(tab, self._others(tab))
            if undone is None:
                return None
            place = self._place.get(undone.pair)
            if place is not None:
                standing = self.journal.answer_to(undone.pair)
                self._code[place] = OPEN if standing is None else _CODE[standing.answer]
            return -1 if place is None else place

    def state(self, tab: str) -> dict[str, Any]:
        """Counts, bands, the estimate before and after the answers, the last answers, and where the page is."""
        with self._lock:
            self.greet(tab)
            n = len(self.bands.labels)
            right, wrong = self._code == ACCEPTED, self._code == REJECTED
            counts = count_bands(self.bands.of, self.links.probability, right, wrong, n)
            now, before = estimate(counts), self._before
            agreement = self.links.summary.agreement
            return {
                "generation": self.generation,
                "name": self.name,
                "links": len(self.links),
                "next": [] if len(self.links) else advice_without_links(self.links),
                "sizes": [len(self.a), len(self.b)],
                "verdict": self.links.summary.verdict_in_words,
                "note": "" if agreement is None or not agreement.note else agreement.sentence,
                "accepted": int(right.sum()),
                "rejected": int(wrong.sum()),
                "skipped": int((self._code == SKIPPED).sum()),
                "open": int((self._code == OPEN).sum()),
                "taken": len(self.journal.accepted()),
                "seeds": len(self.seed_pairs()[0]),
                "estimate": None if now is None else asdict(now),
                "before": None if before is None else asdict(before),
                "bands": [
                    {"label": label, "doubtful": doubtful, **asdict(count)}
                    for label, doubtful, count in zip(self.bands.labels, self.bands.doubtful, counts, strict=True)
                    if count.links
                ],
                "recent": [self._recent(each) for each in self.journal.answers()[-RECENT:][::-1]],
                "here": self._here(tab),
                "tabs": len(self._others(tab)) + 1,
            }

    def greet(self, tab: str) -> None:
        """A page is there."""
        self._seen[tab] = self._now()

    def leave(self, tab: str) -> None:
        """A page was closed: what it looked at is free again."""
        with self._lock:
            self._seen.pop(tab, None)
            self._looks_at.pop(tab, None)

    def answers(self) -> list[Answer]:
        """The answers that stand, in the order they were given."""
        with self._lock:
            return self.journal.answers()

    def accepted(self) -> list[Pair]:
        """The pairs that are known to be right."""
        with self._lock:
            return self.journal.accepted()

    def seed_pairs(self) -> tuple[list[Pair], int]:
        """The accepted pairs and the given ones that were not rejected; and how many accepted ones were left out.

        A row that was accepted with two partners contradicts itself, and seeds may not: those pairs are left out.
        """
        with self._lock:
            accepted, rejected = self.journal.accepted(), set(self.journal.rejected())
            kept = _without_contradictions(accepted)
            taken = ({x for x, _ in accepted}, {y for _, y in accepted})
            given = self.links.evidence.get("given")
            rows = self.links.pairs[given.astype(bool)].tolist() if given is not None else []
            pairs = [(int(x), int(y)) for x, y in rows if x not in taken[0] and y not in taken[1]]
            return kept + [pair for pair in pairs if pair not in rejected], len(accepted) - len(kept)

    def rejected(self) -> list[Pair]:
        """The pairs that are known to be wrong."""
        with self._lock:
            return self.journal.rejected()

    def _open(self, order: str) -> np.ndarray:
        queue = self.bands.queues[order]
        return queue[self._code[queue] == OPEN]

    def _skipped(self) -> list[int]:
        """The longest skipped first, so that skipping one again leads to the next."""
        pairs = (each.pair for each in self.journal.answers() if each.answer == "skip")
        return [self._place[pair] for pair in pairs if pair in self._place]

    def _pair(self, place: int) -> Pair:
        x, y = self.links.pairs[place].tolist()
        return x, y

    def _here(self, tab: str) -> str | None:
        """The band of the link that a page looks at."""
        place = self._looks_at.get(tab)
        return None if place is None else self.bands.labels[self.bands.of[place]]

    def _others(self, tab: str) -> list[str]:
        now = self._now()
        return [other for other, seen in self._seen.items() if other != tab and now - seen < TAB_LIVES]

    def _rival_pair(self, place: int, letter: str) -> Pair:
        column = self.links.evidence.get(f"rival_{letter}")
        row = -1 if column is None or letter not in ("a", "b") else int(column[place])
        if row < 0:
            raise InputError(f"No rival is known for this link on the side of {letter.upper()}.")
        x, y = self._pair(place)
        return (row, y) if letter == "a" else (x, row)

    def _notes(self, pair: Pair) -> list[str]:
        """Where this link stands against what was accepted before."""
        notes = []
        for other in self.journal.accepted():
            for letter, collection, own in (("A", self.b, 0), ("B", self.a, 1)):
                if other[own] == pair[own] and other != pair:
                    partner = shown.side(collection, other[1 - own])["headline"]
                    notes.append(f"You accepted another partner for this object of {letter}: {partner}")
        return notes

    def _recent(self, each: Answer) -> dict[str, Any]:
        left = shown.side(self.a, each.pair[0])["headline"]
        return {"link": self._place.get(each.pair), "answer": each.answer, "title": left, "instead": bool(each.instead)}


def _without_contradictions(pairs: list[Pair]) -> list[Pair]:
    left, right = Counter(x for x, _ in pairs), Counter(y for _, y in pairs)
    return [(x, y) for x, y in pairs if left[x] == right[y] == 1]
