"""Passwords, tokens and keys in URLs: nowhere in what commands print, nor in what they write."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest

import veclink
from store_kinds import POSTGRES
from veclink import sample
from veclink.cli.app import main
from veclink.errors import InputError, without_secrets
from veclink.stores import open_store
from veclink.stores.protocol import Batch

Run = Callable[..., tuple[int, str]]
SECRET = "S3CRETpass"
ROWS = 120


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, postgres_server: str) -> Path:
    """a.npy and b.npy of the same papers, pairs.csv; and both as tables of a server."""
    folder = tmp_path_factory.mktemp("secrets")
    a = veclink.open_collection(sample.A).vectors[:ROWS].astype(np.float32)
    turn, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((a.shape[1], a.shape[1])))
    for name, vectors in (("a", a), ("b", (a @ turn).astype(np.float32))):
        np.save(folder / f"{name}.npy", vectors)
        with open_store(url(name), write=True) as store:
            store.write([Batch(vectors, np.arange(ROWS))], replace=True)
    (folder / "pairs.csv").write_text("a,b\n" + "".join(f"{i},{i}\n" for i in range(100)))
    return folder


def url(table: str) -> str:
    """A table of the real server, with a password: the server trusts its user, and asks for none."""
    base, _, options = POSTGRES["url"].partition("?")
    assert "postgres:@" in base
    return f"{base.replace('postgres:@', f'postgres:{SECRET}@')}?{options}&table={quote(f'secrets-{table}', safe='')}"


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """The exit code of a command in that folder and all that it prints, which never holds the secret."""
    monkeypatch.chdir(folder)

    def command(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["veclink", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        told = "".join(capfd.readouterr())
        assert SECRET not in told, told
        return int(ended.value.code or 0), told

    return command


def untold(folder: Path) -> None:
    """No file of the folder holds the secret."""
    for path in folder.rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes(), path


@pytest.mark.parametrize("more", [[], ["--yes", "--replace"], ["--json"], ["--yes", "--replace", "--json"]])
def test_merge_tells_where_it_writes_without_the_password(run: Run, more: list[str]) -> None:
    code, told = run("merge", url("a"), url("b"), "--links", "pairs.csv", "-o", url("merged"), *more)
    assert code == 0 and "***@" in told and "secrets-merged" in told
    with open_store(url("merged"), write=True) as store:
        assert not store.exists() or SECRET not in json.dumps(store.metadata())


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_translate_tells_where_it_writes_without_the_password(run: Run, folder: Path, more: list[str]) -> None:
    given = ["--links", "pairs.csv", "--a", url("a"), "--b", url("b"), "--save", "map.safetensors", "--replace"]
    code, told = run("translate", url("a"), "-o", url("translated"), *given, *more)
    assert code == 0 and "***@" in told and "secrets-translated" in told
    with open_store(url("translated")) as store:
        assert SECRET not in json.dumps(store.metadata())
    untold(folder)


def test_the_other_commands_tell_and_write_nothing_of_it(run: Run, folder: Path) -> None:
    link = ["link", url("a"), url("b"), "--device", "cpu", "-o", "links.parquet", "--report", "links.html"]
    assert run(*link)[0] == 0
    assert run(*link[:-3], "links.csv", "--json")[0] == 0
    assert run("inspect", url("a"), url("b"), "--no-forecast", "--report", "probe.html")[0] in (0, 3)
    assert run("inspect", url("a"), url("b"), "--no-forecast", "--json")[0] in (0, 3)
    for more in ([], ["--json"]):
        assert run("inspect", url("a"), *more)[0] == 0
        assert run("cluster", url("a"), url("b"), "--links", "pairs.csv", "-o", "c.csv", *more)[0] == 0
        assert run("cut", "links.parquet", "-o", url("links"), "--yes", *more)[0] == 0
    untold(folder)


FORMS = [
    "postgresql://me:{}@127.0.0.1:1/db?table=t",
    "postgresql://me@127.0.0.1:1/db?table=t&password={}",
    "qdrant://me:{}@127.0.0.1:1/papers",
    "qdrant://127.0.0.1:1/papers?api_key={}",
    "qdrant://127.0.0.1:1/papers?token={}",
    "s3://me:{}@bucket/x.npy",
    "file://me:{}@host/x.npy",
    "lancedb://me:{}@host/x#t",
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "command",
    [["inspect", "URL"], ["inspect", "a.npy", "URL"], ["inspect", "--URL", "a.npy"],
     ["link", "URL", "b.npy", "-o", "x.csv"], ["link", "a.npy", "b.npy", "-o", "URL"],
     ["link", "a.npy", "b.npy", "-o", "x.csv", "--seeds", "URL"],
     ["link", "a.npy", "b.npy", "-o", "x.csv", "--device", "URL"],
     ["merge", "a.npy", "b.npy", "--links", "pairs.csv", "-o", "URL"],
     ["translate", "a.npy", "--links", "pairs.csv", "--a", "a.npy", "--b", "b.npy", "-o", "URL"],
     ["cluster", "a.npy", "b.npy", "--links", "URL", "-o", "c.csv"],
     ["cut", "URL", "-o", "sqlite:///l.db#l"], ["cut", "links.csv", "-o", "URL"],
     ["review", "URL", "a.npy", "b.npy"], ["inspect", "URL", "b.npy"], ["eval", "URL", "--truth", "pairs.csv"]],
)  # fmt: skip
def test_what_goes_wrong_is_told_without_it(run: Run, command: list[str], form: str) -> None:
    code, told = run(*(each.replace("URL", form.format(SECRET)) for each in command))
    assert code in (1, 2) and told


def test_the_traceback_of_a_bug_is_printed_without_it(folder: Path) -> None:
    code = (
        f"def fail(*_): raise RuntimeError('no answer from postgresql://me:{SECRET}@host/db')\n"
        "import sys, veclink.cli.app, veclink.probing.inspecting\n"
        "veclink.probing.inspecting.inspect_collection = fail\n"
        "sys.argv = ['veclink', 'inspect', 'a.npy']\n"
        "veclink.cli.app.main()\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert ended.returncode == 1 and "RuntimeError: no answer from postgresql://***@host/db" in ended.stderr
    assert SECRET not in ended.stderr + ended.stdout


def test_errors_of_the_library_are_without_it() -> None:
    for form in FORMS[:2]:
        with pytest.raises(InputError) as caught:
            veclink.link(np.eye(4), np.eye(4), seeds=form.format(SECRET))
        assert SECRET not in str(caught.value) + repr(caught.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("postgresql://me:p@ss:S3/x@host/db?table=t is there", "postgresql://***@host/db?table=t is there"),
        ("postgresql:/me:S3@host/db", "postgresql:/***@host/db"),
        ("qdrant://S3@host:1/c", "qdrant://***@host:1/c"),
        ("x?table=t&API_KEY=S3&id=i", "x?table=t&API_KEY=***&id=i"),
        ("host=h password=S3 user=u", "host=h password=*** user=u"),
        ("qdrant://h/c?access_token=S%203", "qdrant://h/c?access_token=***"),
    ],
)
def test_secrets_are_hidden_in_any_form(text: str, told: str) -> None:
    assert without_secrets(text) == told


@pytest.mark.parametrize(
    "text",
    ["postgresql://host:5432/db?table=t", "lancedb:///data/v@2/x#t", "/data/v@2/x.npy", "C:/v@2/x.npy",
     "http://127.0.0.1:8000/?t=3", "growth=0.3, k=50", "paper 3: me@host", "The keys=3 are there."],
)  # fmt: skip
def test_what_is_no_secret_stays(text: str) -> None:
    assert without_secrets(text) == text
