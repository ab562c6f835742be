"""An answer that was counted is never lost, and nothing else is ever counted."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from veclink.data.collection import Collection
from veclink.errors import InputError, OutputError
from veclink.review.journal import Answer, Journal

A = Collection.from_array(np.eye(6), ids=["a0", "a1", "a2", "a3", "a4", "a5"])
B = Collection.from_array(np.eye(4))


def journal(folder: Path) -> Journal:
    return Journal(folder / "journal.jsonl", A, B)


def told(answers: list[Answer]) -> list[tuple[tuple[int, int], str]]:
    return [(each.pair, each.answer) for each in answers]


def test_answers_are_there_after_opening_again(tmp_path: Path) -> None:
    with journal(tmp_path) as kept:
        kept.add((0, 1), "accept", tab="x")
        kept.add((2, 3), "reject", tab="x", instead=(2, 0))
        kept.add((4, 2), "skip", tab="x")
        before = kept.answers()
    with journal(tmp_path) as kept:
        assert kept.answers() == before
        assert kept.accepted() == [(0, 1), (2, 0)] and kept.rejected() == [(2, 3)]
        assert kept.add((5, 0), "accept", tab="x").number == 4


def test_pairs_are_kept_by_id_so_that_a_reordered_collection_finds_them(tmp_path: Path) -> None:
    with journal(tmp_path) as kept:
        kept.add((1, 2), "accept", tab="x")
    turned = Collection.from_array(A.vectors[::-1], ids=A.ids[::-1])
    with Journal(tmp_path / "journal.jsonl", turned, B) as kept:
        assert kept.accepted() == [(4, 2)]


def test_the_last_answer_to_a_pair_stands_and_undo_brings_the_one_before_back(tmp_path: Path) -> None:
    with journal(tmp_path) as kept:
        kept.add((0, 0), "accept", tab="x")
        kept.add((0, 0), "reject", tab="x")
        assert told(kept.answers()) == [((0, 0), "reject")]
        assert kept.undo("x").answer == "reject"
        assert told(kept.answers()) == [((0, 0), "accept")]
    with journal(tmp_path) as kept:
        assert told(kept.answers()) == [((0, 0), "accept")]
        assert kept.undo("x").answer == "accept"
        assert kept.undo("x") is None and kept.answers() == []


def test_undo_leaves_alone_what_another_open_tab_answered(tmp_path: Path) -> None:
    with journal(tmp_path) as kept:
        kept.add((0, 0), "accept", tab="mine")
        kept.add((1, 1), "accept", tab="theirs")
        assert kept.undo("mine", others=["theirs"]).pair == (0, 0)
        assert kept.undo("mine", others=["theirs"]) is None
        assert kept.undo("mine").pair == (1, 1)  # theirs is closed now


@pytest.mark.parametrize("torn", [b'{"n": 2, "an', b"\x00\x00\x00\x00", b'{"n": 2, "answer"\n', b"\xff\xfe\n"])
def test_a_line_that_a_crash_cut_short_is_dropped_and_the_next_answer_is_sound(tmp_path: Path, torn: bytes) -> None:
    with journal(tmp_path) as kept:
        kept.add((0, 1), "accept", tab="x")
    with (tmp_path / "journal.jsonl").open("ab") as file:
        file.write(torn)
    with journal(tmp_path) as kept:
        assert told(kept.answers()) == [((0, 1), "accept")]
        kept.add((2, 2), "reject", tab="x")
    lines = (tmp_path / "journal.jsonl").read_text().splitlines()
    assert [json.loads(line).get("answer") for line in lines] == [None, "accept", "reject"]


def test_a_journal_cut_at_any_byte_is_what_its_whole_lines_say(tmp_path: Path) -> None:
    states: list[tuple[list[Any], int]] = []
    with journal(tmp_path) as kept:
        states.append(([], kept.path.stat().st_size))
        for work in (
            lambda: kept.add((0, 1), "accept", tab="ü"),
            lambda: kept.add((2, 3), "reject", tab="x", instead=(2, 0)),
            lambda: kept.undo("x"),
            lambda: kept.add((0, 1), "skip", tab="x"),
        ):
            work()
            states.append((told(kept.answers()), kept.path.stat().st_size))
        content = kept.path.read_bytes()
    for size in range(len(content) + 1):
        (tmp_path / "journal.jsonl").write_bytes(content[:size])
        with journal(tmp_path) as kept:
            assert told(kept.answers()) == [answers for answers, end in states if end <= max(size, states[0][1])][-1]


@pytest.mark.parametrize(
    ("place", "line", "said"),
    [
        (1, '{"veclink_review": 1, "n_a": 7, "n_b": 4}', "about 7 and 4 vectors, and these are 6 and 4"),
        (1, "a,b", "not a journal"),
        (2, "{}", "line 2"),
        (2, '{"n": 1, "answer": "accept", "a": "zz", "b": 0}', "line 2.*'zz'"),
        (2, '{"n": 1, "answer": "accept", "a": "a0", "b": 9}', "line 2.*no row 9"),
        (2, '{"n": 1, "answer": "perhaps", "a": "a0", "b": 0}', "line 2.*perhaps"),
        (2, '{"n": 1, "undoes": 5}', "line 2"),
    ],
)
def test_a_damaged_or_foreign_journal_is_refused_by_its_line(tmp_path: Path, place: int, line: str, said: str) -> None:
    with journal(tmp_path) as kept:
        kept.add((0, 0), "accept", tab="x")
        kept.add((1, 1), "accept", tab="x")
    path = tmp_path / "journal.jsonl"
    lines = path.read_text().splitlines()
    lines[place - 1] = line
    path.write_text("\n".join(lines) + "\n")
    content = path.read_bytes()
    with pytest.raises(InputError, match=said):
        journal(tmp_path)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "content",
    [b"PAR1\x00\n\x00\x01half", b"a,b\n1,2\n", b'{"title": "x"}\n{"title"', b"[1, 2]", b"{}\n", b"\x93NUMPY\n"],
)
def test_another_file_named_by_mistake_is_refused_and_not_touched(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "journal.jsonl").write_bytes(content)
    with pytest.raises(InputError, match="not a journal"):
        journal(tmp_path)
    assert (tmp_path / "journal.jsonl").read_bytes() == content


def test_two_reviews_cannot_write_one_journal(tmp_path: Path) -> None:
    with journal(tmp_path), pytest.raises(InputError, match="open in another review"):
        journal(tmp_path)
    journal(tmp_path).close()


def test_a_full_disk_is_said_and_the_answer_does_not_count(tmp_path: Path) -> None:
    with journal(tmp_path) as kept:
        kept.add((0, 0), "accept", tab="x")
        size = kept.path.stat().st_size
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 20, limits[1]))  # the system itself stops the write half-way
        try:
            with pytest.raises(OutputError, match="not saved"):
                kept.add((1, 1), "accept", tab="x")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert kept.path.stat().st_size == size and told(kept.answers()) == [((0, 0), "accept")]
        assert kept.add((1, 1), "accept", tab="x").number == 2
    with journal(tmp_path) as kept:
        assert len(kept.answers()) == 2


def test_a_journal_in_a_missing_folder_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"nowhere.*No such file.*--journal"):
        Journal(tmp_path / "nowhere" / "journal.jsonl", A, B)


def test_every_acknowledged_answer_outlives_a_killed_process(tmp_path: Path) -> None:
    """The writer says each number once its answer counts; after kill -9 all that were said are there, in order."""
    script = """
import sys, numpy as np
from veclink.data.collection import Collection
from veclink.review.journal import Journal
everything = Collection.from_array(np.eye(2).repeat(1000, axis=0))
kept = Journal(sys.argv[1], everything, everything)
for row in range(2000):
    print(kept.add((row, row), "accept", tab="x").number, flush=True)
"""
    path = tmp_path / "journal.jsonl"
    process = subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    for _ in range(25):
        process.stdout.readline()
    os.kill(process.pid, signal.SIGKILL)
    said = 25 + len(process.stdout.read().splitlines())
    process.wait()
    process.stdout.close()
    everything = Collection.from_array(np.eye(2).repeat(1000, axis=0))
    with Journal(path, everything, everything) as kept:
        assert [each.number for each in kept.answers()][:said] == list(range(1, said + 1))
