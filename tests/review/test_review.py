"""What comes up for review, what the answers change, and what comes out in the end."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from reviewed_papers import HOSTILE, Reviewed
from veclink.data.collection import Collection
from veclink.data.links import Links
from veclink.data.pairs import resolve_pairs
from veclink.data.summary import Summary
from veclink.review import Review
from veclink.review.again import Status
from veclink.review.journal import Journal
from veclink.review.server import templates

MARKUP = (
    """"><script>x</script><img src=x onerror='x' hx-get="http://evil.example" style="color:red">&amp;{{ 7 * 7 }}"""
)
KNOWN = {"section", "div", "h2", "h3", "h4", "p", "strong", "small", "input", "table", "caption", "thead", "tbody",
         "tr", "th", "td", "span", "button", "kbd", "mark", "dl", "dt", "dd", "svg", "rect", "line", "ol", "li",
         "title"}  # fmt: skip


@pytest.fixture
def review(papers: Reviewed, tmp_path: Path) -> Iterator[Review]:
    with Journal(tmp_path / "journal.sqlite", papers.a, papers.b) as journal:
        yield Review(papers.links, papers.a, papers.b, journal)


def answer_next(review: Review, answer: str, instead: str | None = None, **how: Any) -> tuple[int, int]:
    link = review.next(**how)
    pair = link["a"]["row"], link["b"]["row"]
    review.answer(pair, answer, instead)
    return pair


def test_the_first_link_is_doubtful_and_shows_payloads_rivals_and_what_speaks_against_it(
    review: Review, papers: Reviewed
) -> None:
    link = review.next()
    assert 0.3 <= link["probability"] <= 0.7
    assert [name for name, _, _ in link["fields"]] == ["title", "year", "venue"]
    assert link["fields"][0][1] == HOSTILE == link["a"]["headline"]
    assert link["why"]["Against it"].endswith(".")
    place = papers.links.pairs.tolist().index([link["a"]["row"], link["b"]["row"]])
    known = papers.links.explain(place)
    assert {each["side"]: each["row"] for each in link["rivals"]} == {"a": known["rival_a"], "b": known["rival_b"]}


def test_exports_are_read_back_as_the_pairs_that_were_accepted(review: Review, papers: Reviewed) -> None:
    accepted = [list(answer_next(review, "accept")) for _ in range(4)]
    rejected = list(answer_next(review, "reject"))
    given = papers.links.pairs[papers.links.evidence["given"]].tolist()
    review.answer(tuple(given[0]), "reject")  # a rejected seed is no seed any more
    truth, seeds = (resolve_pairs(pairs_of(review.export(x)), papers.a, papers.b).tolist() for x in ("truth", "seeds"))
    assert truth == accepted and sorted(seeds) == sorted(accepted + given[1:]) and rejected not in seeds
    told = csv.DictReader(io.StringIO(review.export("decisions")))
    assert [row["answer"] for row in told] == 4 * ["accept"] + 2 * ["reject"]


class Parsed(HTMLParser):
    """The elements of a fragment, and all its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def html_of(review: Review, phase: str = "idle", place: int | None = None) -> str:
    link = review.next() if place is None else review.link(place)
    run = Status(phase, message=MARKUP, stage=MARKUP)
    told = {
        "review": review,
        "link": link,
        "state": review.state(),
        "run": run,
        "said": MARKUP,
        "alert": MARKUP,
        "skipped": False,
    }
    return templates().get_template("moved.html").render(told)


@pytest.mark.parametrize("phase", ["idle", "running", "failed", "done"])
def test_hostile_text_is_only_text_wherever_it_comes_from_and_every_piece_has_its_place(
    tmp_path: Path, phase: str
) -> None:
    payload = pa.table({"title": [MARKUP, MARKUP + " b", MARKUP + " c"], MARKUP: [MARKUP, "short <b>", None]})
    ids = [MARKUP + str(row) for row in range(3)]
    a, b = (Collection.from_array(np.eye(3), ids=ids, payload=payload) for _ in range(2))
    evidence = {"rival_a": np.array([2, 0]), "rival_b": np.array([2, 0]), "near1_a": np.array([1, 0]),
                "near1_b": np.array([0, 1]), "near1_similarity": np.array([0.5, np.nan])}  # fmt: skip
    links = Links(np.array([(0, 1), (1, 0)]), np.array([0.5, 0.6]), Summary("span", 3, 3, 2), evidence)
    page = Parsed(resources.files("veclink.review").joinpath("page", "review.html").read_text())
    places = {attributes["id"] for _, attributes in page.elements if "id" in attributes}
    with Journal(tmp_path / "journal.sqlite", a, b) as journal:
        review = Review(links, a, b, journal, name=MARKUP)
        for answers in range(3):
            parsed = Parsed(html_of(review, phase))
            assert {tag for tag, _ in parsed.elements} <= KNOWN
            elements = [attributes for _, attributes in parsed.elements]
            for each in elements:
                assert not {name for name in each if name.startswith("on") or name in ("style", "src", "href")}
            assert MARKUP in parsed.text and "49" not in parsed.text
            assert {each["id"] for each in elements if "hx-swap-oob" in each} <= places
            asked = {each.get("hx-get") or each.get("hx-post") for each in elements} - {None}
            assert all(re.fullmatch(r"answer|undo|state|next|link/\d+|again/(start|stop|take)", x) for x in asked)
            ids_there = [each["id"] for each in elements if "id" in each]
            assert len(ids_there) == len(set(ids_there))
            if answers < 2:
                answer_next(review, "reject", "b")


def test_the_notice_names_the_htmx_that_is_served() -> None:
    served = resources.files("veclink.review").joinpath("page", "htmx.min.js").read_text()
    version = re.search(r'version:"([\d.]+)"', served)
    assert f"htmx {version[1]} " in (Path(__file__).parents[2] / "NOTICE").read_text()


def pairs_of(text: str) -> list[tuple[str, str]]:
    return [(row["a"], row["b"]) for row in csv.DictReader(io.StringIO(text))]
