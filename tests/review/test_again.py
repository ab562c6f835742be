"""Linking again with what was accepted: what it begins with, what it never brings back, and how it ends."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from reviewed_papers import Reviewed
from veclink import Links
from veclink.errors import InputError
from veclink.review import Review
from veclink.review.again import LinkAgain
from veclink.review.journal import Journal


@pytest.fixture
def review(papers: Reviewed, tmp_path: Path) -> Iterator[Review]:
    with Journal(tmp_path / "journal.sqlite", papers.a, papers.b) as journal:
        yield Review(papers.links, papers.a, papers.b, journal)


def answer(review: Review, place: int, answer: str) -> None:
    a, b = review.links.pairs[place].tolist()
    review.answer((a, b), answer)


def test_accepted_links_become_seeds_and_rejected_ones_never_come_back(
    review: Review, papers: Reviewed, tmp_path: Path
) -> None:
    right = papers.right()
    accepted, rejected = np.flatnonzero(right)[-10:], np.flatnonzero(~right)
    known = papers.links.pairs[np.flatnonzero(right & ~papers.links.evidence["given"])[0]].tolist()
    for place in accepted:
        answer(review, int(place), "accept")
    for place in rejected:
        answer(review, int(place), "reject")
    answer(review, papers.links.pairs.tolist().index(known), "reject")  # a link that would surely come up again
    again = LinkAgain(review, tmp_path / "again.parquet", device="cpu")
    again.start()
    with pytest.raises(InputError, match="under way"):
        again.start()
    again.thread.join()
    status = again.status
    assert status.phase == "done" and status.seconds > 0, status.message
    links = Links.load(tmp_path / "again.parquet")
    found = set(map(tuple, links.pairs.tolist()))
    given = set(map(tuple, links.pairs[links.evidence["given"]].tolist()))
    assert set(map(tuple, papers.links.pairs[accepted].tolist())) <= given
    assert not found & set(map(tuple, papers.links.pairs[rejected].tolist())) and tuple(known) not in found
    again_wrong = re.search(r"(\d+) that you had rejected came up again", status.message)
    assert again_wrong is not None and int(again_wrong[1]) >= 1  # the sure one among them
    assert f"{len(links):,} links from {len(given):,} seeds" in status.message and "again.parquet" in status.message
    again.take()
    assert len(review.links) == len(links)
    assert review.state()["accepted"] == len(given & set(review.journal.accepted()))
    with pytest.raises(InputError, match="no new links"):
        again.take()


def test_stopping_leaves_no_file_and_the_old_links(review: Review, papers: Reviewed, tmp_path: Path) -> None:
    again = LinkAgain(review, tmp_path / "again.parquet", device="cpu")
    again.start()
    again.stop()
    again.thread.join()
    assert again.status.phase == "stopped" and not (tmp_path / "again.parquet").exists()
    assert review.links is papers.links


def test_a_links_file_decides_neither_where_to_connect_nor_what_is_written(papers: Reviewed, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0)
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        foreign = {
            "cluster": address, "checkpoint": str(tmp_path / "owned"), "progress": "print", "device": "cuda",
            "memory": "1TB", "seeds": "/etc/passwd", "skip_zero": True, "one_to_one": False,
        }  # fmt: skip
        papers.links.some(slice(None), papers.links.summary, options=foreign).save(tmp_path / "links.csv")
        links = Links.load(tmp_path / "links.csv")
        before = set(tmp_path.iterdir())
        with Journal(tmp_path / "journal.sqlite", papers.a, papers.b) as journal:
            review = Review(links, papers.a, papers.b, journal)
            for place in np.flatnonzero(papers.right())[-10:]:
                answer(review, int(place), "accept")
            again = LinkAgain(review, tmp_path / "again.parquet", device="cpu")
            again.start()
            again.thread.join()
        with pytest.raises(BlockingIOError):
            listening.accept()
    status = again.status
    assert status.phase == "done", status.message
    assert re.search(
        r"The links file names 'cluster', 'checkpoint', .* \(7 in all\), which no links file", status.message
    )
    written = {path.name for path in set(tmp_path.iterdir()) - before}
    assert written <= {"again.parquet", "journal.sqlite", "journal.sqlite-journal"} and "again.parquet" in written
    assert Links.load(tmp_path / "again.parquet").options == {"random_state": 0, "one_to_one": False}
