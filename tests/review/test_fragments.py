"""The pieces of the page: nothing in them is markup but what the templates say, and every piece finds its place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from veclink.data.agreement import Agreement
from veclink.data.collection import Collection
from veclink.data.links import Links
from veclink.data.no_links import NO_LINKS_WITHOUT_SEEDS
from veclink.data.summary import Summary
from veclink.review import fragments
from veclink.review.again import Status
from veclink.review.journal import Journal
from veclink.review.session import Review

HOSTILE = (
    """"><script>x</script><img src=x onerror='x' hx-get="http://evil.example" style="color:red">&amp;{{ 7 * 7 }}"""
)
KNOWN = {"section", "div", "h2", "h3", "h4", "p", "strong", "small", "input", "table", "caption", "thead", "tbody",
         "tr", "th", "td", "span", "button", "kbd", "mark", "dl", "dt", "dd", "svg", "rect", "line", "ol", "li",
         "title"}  # fmt: skip


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


@pytest.fixture
def review(tmp_path: Path) -> Iterator[Review]:
    """Every text that comes from outside is hostile: ids, names of fields, values, and the file's name."""
    payload = pa.table({"title": [HOSTILE, HOSTILE + " b", HOSTILE + " c"], HOSTILE: [HOSTILE, "short <b>", None]})
    ids = [HOSTILE + str(row) for row in range(3)]
    a, b = (Collection.from_array(np.eye(3), ids=ids, payload=payload) for _ in range(2))
    evidence = {"rival_a": np.array([2, 0]), "rival_b": np.array([2, 0]), "near1_a": np.array([1, 0]),
                "near1_b": np.array([0, 1]), "near1_similarity": np.array([0.5, np.nan])}  # fmt: skip
    links = Links(np.array([(0, 1), (1, 0)]), np.array([0.5, 0.6]), Summary("span", 3, 3, 2), evidence)
    with Journal(tmp_path / "journal.jsonl", a, b) as journal:
        yield Review(links, a, b, journal, name=HOSTILE)


def moved(review: Review, phase: str = "idle") -> str:
    link = review.next("one")
    state = {**review.state("one"), "again": vars(Status(phase, message=HOSTILE, stage=HOSTILE))}
    return fragments.moved(link, state, False, HOSTILE, HOSTILE)


@pytest.mark.parametrize("phase", ["idle", "running", "failed", "done"])
@pytest.mark.parametrize("answers", [0, 1, 2])
def test_hostile_text_is_only_text_wherever_it_comes_from(review: Review, answers: int, phase: str) -> None:
    for _ in range(answers):
        shown: Any = review.next("one")
        review.answer("one", shown["generation"], shown["link"], shown["seen"], "reject", "b")
    parsed = Parsed(moved(review, phase))
    assert {tag for tag, _ in parsed.elements} <= KNOWN
    for _, attributes in parsed.elements:
        assert not {name for name in attributes if name.startswith("on") or name in ("style", "src", "href")}
        assert "http" not in (attributes.get("hx-get") or "")
    assert HOSTILE in parsed.text and "49" not in parsed.text


def test_a_sentence_is_text() -> None:
    assert Parsed(fragments.sentence(HOSTILE)).text == HOSTILE and "<" not in fragments.sentence(HOSTILE)


@pytest.mark.parametrize("phase", ["idle", "running", "failed", "done"])
def test_every_piece_has_a_place_on_the_page_and_every_request_an_address(review: Review, phase: str) -> None:
    page = resources.files("veclink.review").joinpath("page", "review.html").read_text()
    places = {attributes["id"] for _, attributes in Parsed(page).elements if "id" in attributes}
    elements = [attributes for _, attributes in Parsed(moved(review, phase)).elements]
    pieces = {each["id"] for each in elements if "hx-swap-oob" in each}
    assert {"alert", "said", "file", "progress", "estimate", "linking", "again-text", "recent", "poll"} == pieces
    assert pieces <= places
    asked = {each.get("hx-get") or each.get("hx-post") for each in elements} - {None}
    assert asked >= {"answer", "undo", "state"}
    assert all(re.fullmatch(r"answer|undo|state|next|link/\d+|again/(start|stop|take)", str(each)) for each in asked)


def test_no_id_stands_twice(review: Review) -> None:
    ids = [attributes["id"] for _, attributes in Parsed(moved(review)).elements if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_the_page_looks_more_often_while_linking(review: Review) -> None:
    assert 'hx-trigger="every 2s"' in moved(review) and 'hx-trigger="every 500ms"' in moved(review, "running")


@pytest.mark.parametrize(
    ("reasons", "way_out"), [((NO_LINKS_WITHOUT_SEEDS,), "--seeds-by title"), (("Unlike.",), "veclink probe")]
)
def test_links_without_any_say_so_and_what_to_do(tmp_path: Path, reasons: tuple[str, ...], way_out: str) -> None:
    a, b = (Collection.from_array(np.eye(3)) for _ in range(2))
    links = Links(np.zeros((0, 2), int), np.zeros(0), Summary("span", 3, 3, 0, verdict="not linkable", reasons=reasons))
    with Journal(tmp_path / "journal.jsonl", a, b) as journal:
        told = Parsed(moved(Review(links, a, b, journal))).text
    assert "There are no links in this file." in told and "0 of 0 answered" in told
    assert "Nothing to review" in told and way_out in told


def test_a_payload_that_looks_shuffled_is_told_beside_the_verdict(tmp_path: Path) -> None:
    a, b = (Collection.from_array(np.eye(3)) for _ in range(2))
    agreement = Agreement("title", "title", 0, 1, note="If they should, look.")
    links = Links(np.array([[0, 0]]), np.ones(1), Summary("span", 3, 3, 1, agreement=agreement))
    with Journal(tmp_path / "journal.jsonl", a, b) as journal:
        told = Parsed(moved(Review(links, a, b, journal))).text
    assert "payload does not fit them · Titles agree in 0 of 1 link. If they should, look." in told


def test_the_notice_names_the_htmx_that_is_served() -> None:
    served = resources.files("veclink.review").joinpath("page", "htmx.min.js").read_text()
    version = re.search(r'version:"([\d.]+)"', served)
    assert version is not None
    assert f"htmx {version[1]} " in (Path(__file__).parents[2] / "NOTICE").read_text()
