"""The review of links: what is asked next, what the answers come to, and what they are exported as.

The path of an answer: `page` (the browser) → `server` (who may ask) → `Review` → `journal` (on disk before the page is
told). The way back: `Review` → `templates` → htmx, which puts each piece in its place on the page. `estimate` orders
the links and says what the answers mean for all of them. `shown` is what a person sees of a link. `again` links again
with what was accepted.
"""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import numpy as np

from veclink.data.collection import Collection
from veclink.data.links import Links
from veclink.errors import InputError
from veclink.files.tables import csv_text
from veclink.report.words import advice_without_links
from veclink.review import shown
from veclink.review.estimate import DOUBTFUL, LABELS, banded, count_bands, estimate
from veclink.review.journal import ANSWERS, Journal, Pair
from veclink.uses.linked_pairs import check_links

RECENT = 8


class Review:
    """Links, the collections behind them, and the journal of answers. Methods may be called from several threads."""

    def __init__(self, links: Links, a: Collection, b: Collection, journal: Journal, *, name: str = "links") -> None:
        self.a, self.b, self.journal = a, b, journal
        self._lock = threading.RLock()
        self.use(links, name)

    def use(self, links: Links, name: str) -> None:
        """Review these links, called `name`, from now on; answers to pairs that are among them count at once."""
        check_links(links, self.a, self.b, force=True)  # a page of wrong payloads would be believed
        with self._lock:
            self.links, self.name = links, name
            self._band, self._queues = banded(links)
            self._place = {(x, y): place for place, (x, y) in enumerate(links.pairs.tolist())}
            none = np.zeros(len(links), bool)
            self._before = estimate(count_bands(self._band, links.probability, none, none))

    def next(self, order: str = "doubtful", *, skipped: bool = False) -> dict[str, Any] | None:
        """The next open (or skipped) link; None when there is none. The longest skipped comes first."""
        with self._lock:
            queue = self._queues[order]
            if skipped:
                skips = (pair for pair, each in self.journal.answers().items() if each.answer == "skip")
                wanted = [self._place[pair] for pair in skips if pair in self._place]
            else:
                wanted = queue[self._answered()[queue] < 0].tolist()
            return self.link(wanted[0]) if wanted else None

    def link(self, place: int) -> dict[str, Any]:
        """All that the page shows of one link."""
        with self._lock:
            if not 0 <= place < len(self.links):
                raise InputError(f"There is no link {place}; there are {len(self.links):,}, counted from 0.")
            x, y = self.links.pairs[place].tolist()
            pair = x, y
            answer = self.journal.answers().get(pair)
            left, right = shown.side(self.a, pair[0]), shown.side(self.b, pair[1])
            return {
                "answer": None if answer is None else answer.answer,
                "band": LABELS[self._band[place]],
                "probability": float(self.links.probability[place]),
                "a": left,
                "b": right,
                "fields": shown.fields(left, right),
                "rivals": shown.rivals(self.links, place, self.a, self.b),
                "why": shown.why(self.links, place),
                "nearest": shown.nearest(self.links, place, self.a, self.b),
                "others": [
                    ("AB"[own], shown.side((self.b, self.a)[own], other[1 - own])["headline"])
                    for other in self.journal.accepted()
                    for own in (0, 1)
                    if other[own] == pair[own] and other != pair
                ],
            }

    def answer(self, pair: Pair, answer: str, instead: str | None = None) -> None:
        """Write down an answer. instead: "a" or "b" takes the rival on that side; the link is thereby rejected."""
        with self._lock:
            place = self._place.get(pair)
            if place is None:
                raise InputError("This link is not under review any more; load the page again.")
            other = None
            if instead is not None:
                column = self.links.evidence.get(f"rival_{instead}")
                row = -1 if column is None else int(column[place])
                if row < 0:
                    raise InputError(f"No rival is known for this link on the side of {instead.upper()}.")
                answer, other = "reject", (row, pair[1]) if instead == "a" else (pair[0], row)
            self.journal.add(pair, answer, other)

    def undo(self) -> int | None:
        """Take back the last answer; the place of its link, −1 where it has none now, None without an answer."""
        with self._lock:
            undone = self.journal.undo()
            return None if undone is None else self._place.get(undone, -1)

    def state(self) -> dict[str, Any]:
        """Counts, bands, the estimate before and after the answers, and the last answers."""
        with self._lock:
            code = self._answered()
            accepted, rejected, skipped = (code == i for i in range(len(ANSWERS)))
            counts = count_bands(self._band, self.links.probability, accepted, rejected)
            answers = list(self.journal.answers().values())
            return {
                "next": [] if len(self.links) else advice_without_links(self.links),
                "accepted": int(accepted.sum()),
                "rejected": int(rejected.sum()),
                "skipped": int(skipped.sum()),
                "taken": len(self.journal.accepted()),
                "seeds": len(self.seed_pairs()[0]),
                "estimate": estimate(counts),
                "before": self._before,
                "bands": [each for each in zip(LABELS, DOUBTFUL, counts, strict=True) if each[2].links],
                "recent": [
                    (self._place.get(each.pair), each.answer, shown.side(self.a, each.pair[0])["headline"])
                    for each in answers[-RECENT:][::-1]
                ],
            }  # fmt: skip

    def seed_pairs(self) -> tuple[list[Pair], int]:
        """The accepted pairs and the given ones that were not rejected; and how many accepted ones were left out.

        A row that was accepted with two partners contradicts itself, and seeds may not: those pairs are left out.
        """
        with self._lock:
            accepted, rejected = self.journal.accepted(), set(self.journal.rejected())
            left, right = Counter(x for x, _ in accepted), Counter(y for _, y in accepted)
            kept = [(x, y) for x, y in accepted if left[x] == right[y] == 1]
            given = self.links.evidence.get("given", np.zeros(len(self.links))).astype(bool)
            rows = [(x, y) for x, y in self.links.pairs[given].tolist() if x not in left and y not in right]
            return kept + [pair for pair in rows if pair not in rejected], len(accepted) - len(kept)

    def export(self, what: str) -> str:
        """The answers as CSV: "truth", the accepted pairs; "seeds"; "decisions", every answer and taken rival."""
        with self._lock:
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
