"""What two open pages may do to each other's answers, and what comes out in the end."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from reviewed_papers import HOSTILE, Reviewed
from veclink import open_collection, sample
from veclink.data.collection import Collection
from veclink.data.links import Links
from veclink.data.pairs import resolve_pairs
from veclink.data.summary import Summary
from veclink.errors import InputError
from veclink.review import exports
from veclink.review.journal import Journal
from veclink.review.session import TAB_LIVES, Overtaken, Review


class Clock:
    """Time that passes when told."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def review(papers: Reviewed, tmp_path: Path, clock: Clock) -> Iterator[Review]:
    with Journal(tmp_path / "journal.jsonl", papers.a, papers.b) as journal:
        yield Review(papers.links, papers.a, papers.b, journal, now=clock)


def answer_next(review: Review, tab: str, answer: str, **more: str) -> int:
    shown = review.next(tab)
    assert shown is not None
    review.answer(tab, shown["generation"], shown["link"], shown["seen"], answer, **more)
    return shown["link"]


def test_the_first_link_is_doubtful_and_shows_both_payloads(review: Review) -> None:
    shown = review.next("one")
    assert shown is not None
    assert 0.3 <= shown["probability"] <= 0.7
    by_name = {field["name"]: field for field in shown["fields"]}
    assert list(by_name) == ["title", "year", "venue"]
    assert by_name["title"]["a"] == HOSTILE == shown["a"]["headline"]
    assert by_name["title"]["b"] == shown["b"]["headline"] != HOSTILE


def test_a_doubtful_link_says_what_speaks_against_it(review: Review) -> None:
    shown = review.next("one")
    assert shown is not None
    against = {row["what"]: row["value"] for row in shown["why"]}["Against it"]
    assert against.endswith(".") and len(against) > 20


def test_rivals_are_the_ones_that_the_linker_recorded(review: Review, papers: Reviewed) -> None:
    shown = review.next("one")
    assert shown is not None
    known = papers.links.explain(shown["link"])
    assert {rival["side"]: rival["row"] for rival in shown["rivals"]} == {"a": known["rival_a"], "b": known["rival_b"]}
    assert {rival["side"]: rival["name"] for rival in shown["rivals"]}["b"] == papers.b.ids[known["rival_b"]]


def test_two_tabs_are_shown_different_links(review: Review) -> None:
    one, two = review.next("one"), review.next("two")
    assert one is not None and two is not None and one["link"] != two["link"]
    review.leave("one")
    assert review.next("two")["link"] == one["link"]


def test_a_tab_that_is_gone_without_a_word_gives_its_link_back(review: Review, clock: Clock) -> None:
    first = review.next("one")["link"]
    clock.now += TAB_LIVES + 1
    assert review.next("two")["link"] == first


def test_an_answer_to_what_another_tab_answered_meanwhile_is_refused(review: Review) -> None:
    shown = review.next("one")
    other = review.link("two", shown["link"])
    review.answer("two", other["generation"], other["link"], other["seen"], "reject")
    with pytest.raises(Overtaken, match="rejected in another tab"):
        review.answer("one", shown["generation"], shown["link"], shown["seen"], "accept")
    assert [each.answer for each in review.journal.answers()] == ["reject"]


def test_who_has_seen_an_answer_may_change_it(review: Review) -> None:
    place = answer_next(review, "one", "reject")
    shown = review.link("two", place)
    assert shown["answer"] == "reject"
    review.answer("two", shown["generation"], place, shown["seen"], "accept")
    state = review.state("two")
    assert (state["accepted"], state["rejected"]) == (1, 0)


def test_undo_opens_the_link_again_and_spares_the_other_tab(review: Review) -> None:
    mine, theirs = answer_next(review, "one", "accept"), answer_next(review, "two", "accept")
    assert review.undo("one") == mine
    assert review.state("one")["accepted"] == 1 and review.next("one")["link"] == mine
    assert review.undo("one") is None
    review.leave("two")
    assert review.undo("one") == theirs


def test_skipped_links_come_again_when_asked_for_the_longest_skipped_first(review: Review) -> None:
    first, second = answer_next(review, "one", "skip"), answer_next(review, "one", "skip")
    assert review.next("one")["link"] not in (first, second)
    again = review.next("one", skipped=True)
    assert again["link"] == first
    review.answer("one", again["generation"], first, again["seen"], "skip")
    assert review.next("one", skipped=True)["link"] == second
    assert review.state("one")["estimate"]["answered"] == 0


def test_a_rival_taken_instead_is_accepted_and_the_link_rejected(review: Review, papers: Reviewed) -> None:
    place = answer_next(review, "one", "reject", instead="b")
    row_a, row_b = papers.links.pairs[place].tolist()
    rival = int(papers.links.evidence["rival_b"][place])
    assert review.journal.rejected() == [(row_a, row_b)] and review.journal.accepted() == [(row_a, rival)]
    assert pairs_of(exports.truth(review)) == [(papers.a.ids[row_a], papers.b.ids[rival])]
    other = np.flatnonzero(papers.links.pairs[:, 1] == rival)
    if len(other):
        assert "another partner" in review.link("one", int(other[0]))["notes"][0]
    review.undo("one")
    assert review.journal.accepted() == [] == review.journal.rejected()


def test_every_answer_leads_to_another_link_until_none_is_left(review: Review, papers: Reviewed) -> None:
    right, seen = papers.right(), set()
    while (shown := review.next("one", "even")) is not None:
        seen.add(shown["link"])
        answer = "accept" if right[shown["link"]] else "reject"
        review.answer("one", shown["generation"], shown["link"], shown["seen"], answer)
    state = review.state("one")
    assert seen == set(range(len(papers.links))) and state["open"] == 0
    assert state["estimate"]["precision"] == pytest.approx(right.mean())
    assert state["estimate"]["low"] == state["estimate"]["high"]


def test_answers_change_the_estimate_as_their_bands_say(review: Review) -> None:
    before = review.state("one")["estimate"]
    for _ in range(5):
        answer_next(review, "one", "reject")
    after = review.state("one")
    assert after["estimate"]["precision"] < before["precision"] == after["before"]["precision"]
    assert sum(band["wrong"] for band in after["bands"]) == 5


def test_exports_are_read_back_as_the_pairs_that_were_accepted(review: Review, papers: Reviewed) -> None:
    accepted = [papers.links.pairs[answer_next(review, "one", "accept")].tolist() for _ in range(4)]
    rejected = papers.links.pairs[answer_next(review, "one", "reject")].tolist()
    assert resolve(exports.truth(review), papers).tolist() == accepted
    seeds = resolve(exports.seeds(review), papers).tolist()
    given = papers.links.pairs[papers.links.evidence["given"]].tolist()
    assert sorted(seeds) == sorted(accepted + given) and rejected not in seeds
    told = csv.DictReader(io.StringIO(exports.decisions(review)))
    assert [row["answer"] for row in told] == 4 * ["accept"] + ["reject"]


def test_a_rejected_seed_is_no_seed_any_more(review: Review, papers: Reviewed) -> None:
    place = int(np.flatnonzero(papers.links.evidence["given"])[0])
    shown = review.link("one", place)
    review.answer("one", shown["generation"], place, 0, "reject")
    assert tuple(papers.links.pairs[place].tolist()) not in review.seed_pairs()[0]


def test_seeds_leave_out_accepted_pairs_that_contradict_each_other(tmp_path: Path) -> None:
    a, b = (Collection.from_array(np.eye(4)) for _ in range(2))
    links = Links(np.array([(0, 0), (0, 1), (2, 2)]), np.full(3, 0.5), Summary("span", 4, 4, 3))
    with Journal(tmp_path / "journal.jsonl", a, b) as journal:
        review = Review(links, a, b, journal)
        for _ in range(3):
            answer_next(review, "one", "accept")
        assert review.seed_pairs() == ([(2, 2)], 2)
        assert len(pairs_of(exports.truth(review))) == 3


def test_collections_without_payload_and_evidence_can_be_reviewed_by_row(tmp_path: Path) -> None:
    a, b = (Collection.from_array(np.eye(4)) for _ in range(2))
    links = Links(np.array([(0, 3)]), np.array([0.5]), Summary("geh", 4, 4, 1))
    with Journal(tmp_path / "journal.jsonl", a, b) as journal:
        shown = Review(links, a, b, journal).next("one")
    assert (shown["a"]["name"], shown["b"]["name"], shown["fields"], shown["rivals"]) == ("0", "3", [], [])


@pytest.mark.parametrize("ending", ["\r", "\n", ",", '"', "\r\n", " "])
def test_ids_with_odd_characters_come_back_from_the_export(tmp_path: Path, ending: str) -> None:
    ids = [f"x{ending}{row}" for row in range(4)]
    a, b = (Collection.from_array(np.eye(4), ids=ids) for _ in range(2))
    links = Links(np.array([(1, 2)]), np.array([0.5]), Summary("span", 4, 4, 1))
    with Journal(tmp_path / "journal.jsonl", a, b) as journal:
        review = Review(links, a, b, journal)
        answer_next(review, "one", "accept")
        (tmp_path / "truth.csv").write_bytes(exports.truth(review).encode())
    assert resolve_pairs(tmp_path / "truth.csv", a, b).tolist() == [[1, 2]]


def test_links_of_other_collections_are_refused(papers: Reviewed, tmp_path: Path) -> None:
    whole = open_collection(sample.A)
    with Journal(tmp_path / "one.jsonl", whole, papers.b) as journal:
        with pytest.raises(InputError, match="between 270 and 270 vectors"):
            Review(papers.links, whole, papers.b, journal)
    others = replace(papers.a, ids=papers.a.ids[::-1].copy())
    with Journal(tmp_path / "two.jsonl", others, papers.b) as journal:
        with pytest.raises(InputError, match="other ids than A has"):
            Review(papers.links, others, papers.b, journal)


def pairs_of(text: str) -> list[tuple[str, str]]:
    return [(row["a"], row["b"]) for row in csv.DictReader(io.StringIO(text))]


def resolve(text: str, papers: Reviewed) -> np.ndarray:
    return resolve_pairs(pairs_of(text), papers.a, papers.b)
