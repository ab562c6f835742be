"""An answer that was counted is never lost, and nothing else is ever counted."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from veclink.data.collection import Collection
from veclink.errors import InputError
from veclink.review.journal import TABLES, Answer, Journal

A = Collection.from_array(np.eye(6), ids=["a0", "a1", "a2", "a3", "a4", "a5"])
B = Collection.from_array(np.eye(4))
SIZES = "INSERT INTO collections VALUES (6, 4)"
ANSWER = "INSERT INTO answers VALUES (1, '', {}, NULL, NULL)"
HEAD = '{"veclink_review": 1, "n_a": 6, "n_b": 4}\n'


def journal(folder: Path) -> Journal:
    return Journal(folder / "journal.sqlite", A, B)


def test_answers_are_there_after_opening_again_by_id_and_for_their_owner_only(tmp_path: Path) -> None:
    with journal(tmp_path) as kept:
        kept.add((0, 1), "accept")
        kept.add((2, 3), "reject", (2, 0))
        kept.add((4, 2), "skip")
        before = kept.answers()
    with journal(tmp_path) as kept:
        assert kept.answers() == before
        assert kept.accepted() == [(0, 1), (2, 0)] and kept.rejected() == [(2, 3)]
    assert (tmp_path / "journal.sqlite").stat().st_mode & 0o777 == 0o600
    turned = Collection.from_array(A.vectors[::-1], ids=A.ids[::-1])
    with Journal(tmp_path / "journal.sqlite", turned, B) as kept:
        assert kept.accepted() == [(5, 1), (3, 0)]


def test_the_last_answer_to_a_pair_stands_and_undo_brings_the_one_before_back(tmp_path: Path) -> None:
    with journal(tmp_path) as kept:
        kept.add((0, 0), "accept")
        kept.add((0, 0), "reject")
        assert kept.answers() == {(0, 0): Answer((0, 0), "reject", None)}
        assert kept.undo() == (0, 0) and kept.accepted() == [(0, 0)]
    with journal(tmp_path) as kept:
        assert kept.accepted() == [(0, 0)]
        assert kept.undo() == (0, 0) and kept.undo() is None and kept.answers() == {}


def test_two_reviews_cannot_write_one_journal(tmp_path: Path) -> None:
    with journal(tmp_path), pytest.raises(InputError, match="open in another review"):
        journal(tmp_path)
    journal(tmp_path).close()


@pytest.mark.parametrize("content", [b"PAR1\x00\n\x00\x01half", b"a,b\n1,2\n", b"[1, 2]", b"\x93NUMPY\n" * 400])
def test_another_file_named_by_mistake_is_refused_and_not_touched(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "journal.sqlite").write_bytes(content)
    with pytest.raises(InputError, match="not a journal"):
        journal(tmp_path)
    assert [each.read_bytes() for each in tmp_path.iterdir()] == [content]


@pytest.mark.parametrize(
    ("statements", "said"),
    [
        (["CREATE TABLE papers (id)"], "not a journal"),
        ([*TABLES, "CREATE TRIGGER x AFTER INSERT ON answers BEGIN DELETE FROM answers; END"], "not a journal"),
        (["CREATE TABLE t (n)", "CREATE VIEW answers AS SELECT 1", "CREATE VIEW collections AS SELECT 6, 4"], "not a"),
        ([*TABLES], "about None"),
        ([*TABLES, "INSERT INTO collections VALUES (7, 4)"], "about 7 and 4 vectors, and these are 6 and 4"),
        ([*TABLES, SIZES, ANSWER.format("'accept', 'zz', 0")], "answer 1.*'zz'"),
        ([*TABLES, SIZES, ANSWER.format("'accept', 'a0', 9")], "answer 1.*9"),
        ([*TABLES, SIZES, ANSWER.format("'perhaps', 'a0', 0")], "answer 1.*perhaps"),
    ],
)  # fmt: skip
def test_a_foreign_or_damaged_database_is_refused_and_not_touched(
    tmp_path: Path, statements: list[str], said: str
) -> None:
    path = tmp_path / "journal.sqlite"
    with sqlite3.connect(path) as file:
        for statement in statements:
            file.execute(statement)
    file.close()
    content = path.read_bytes()
    with pytest.raises(InputError, match=said):
        journal(tmp_path)
    assert path.read_bytes() == content


def test_a_journal_of_version_0_2_is_taken_over_once(tmp_path: Path) -> None:
    earlier = tmp_path / "links.parquet.review.jsonl"
    lines = [
        {"n": 1, "at": "2026-01-01", "tab": "x", "answer": "accept", "a": "a0", "b": 1},
        {"n": 2, "at": "2026-01-01", "tab": "x", "answer": "reject", "a": "a2", "b": 3, "instead": {"a": "a2", "b": 0}},
        {"n": 3, "at": "2026-01-01", "tab": "x", "answer": "accept", "a": "a4", "b": 2},
        {"n": 4, "at": "2026-01-01", "tab": "x", "undoes": 3},
    ]
    earlier.write_text(HEAD + "".join(json.dumps(line) + "\n" for line in lines) + '{"n": 5, "an')
    for name in ("links.parquet.review.jsonl", "links.parquet.review.sqlite"):  # as it was named, and as it is now
        with Journal(tmp_path / name, A, B) as kept:
            assert kept.path == tmp_path / "links.parquet.review.sqlite"
            assert kept.accepted() == [(0, 1), (2, 0)] and kept.rejected() == [(2, 3)]
            kept.add((5, 1), "skip")
            assert len(kept.answers()) == 3
    assert earlier.read_text().startswith(HEAD)


def test_every_acknowledged_answer_outlives_a_killed_process(tmp_path: Path) -> None:
    """The writer says each number once its answer counts; after kill -9 all that were said are there, in order."""
    script = """
import sys, numpy as np
from veclink.data.collection import Collection
from veclink.review.journal import Journal
everything = Collection.from_array(np.eye(2).repeat(1000, axis=0))
kept = Journal(sys.argv[1], everything, everything)
for row in range(2000):
    kept.add((row, row), "accept")
    print(row, flush=True)
"""
    path = tmp_path / "journal.sqlite"
    process = subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE)
    for _ in range(25):
        process.stdout.readline()
    os.kill(process.pid, signal.SIGKILL)
    said = 25 + len(process.stdout.read().splitlines())
    process.wait()
    process.stdout.close()
    everything = Collection.from_array(np.eye(2).repeat(1000, axis=0))
    with Journal(path, everything, everything) as kept:
        assert list(kept.answers())[:said] == [(row, row) for row in range(said)]
