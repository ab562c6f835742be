"""A loss of power: what a rename makes visible is on disk before it, and the name itself after it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from faults.cases import Case, all_cases
from faults.papers import write_papers
from own_process import alone

ENGINES = ("lancedb", "qdrant", "chroma", "milvus", "postgres", "sqlite", "duckdb")
"""Stores that see to it themselves; all other targets are written by veclink."""
CASES = all_cases()
OURS = [name for name in CASES if not any(engine in name for engine in ENGINES) and f"{name}, replacing" not in CASES]


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("order") / "papers"
    write_papers(folder)
    return folder


def noted(name: str, papers: Path, folder: Path, log: Path) -> None:
    """Run a case, and note every fsync, rename, removal and opening for writing within its folder, in their order."""
    case, held = all_cases()[name], str(folder)
    fsync = os.fsync
    lines = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(*words: object) -> None:
        if any(str(word).startswith(held) for word in words):
            os.write(lines, ("\t".join(map(str, words)) + "\n").encode())

    def noting_fsync(descriptor: Any) -> None:
        fsync(descriptor)
        number = descriptor if isinstance(descriptor, int) else descriptor.fileno()
        note("fsync", os.readlink(f"/proc/self/fd/{number}"))

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "os.rename":
            note("rename", os.path.abspath(os.fsdecode(arguments[0])), os.path.abspath(os.fsdecode(arguments[1])))

    instead: Any = noting_fsync
    os.fsync = instead
    sys.addaudithook(hook)
    words = [str(each) for each in case.words(papers, folder)]
    if words[0] == "answer":
        from faults.journal import answer_all

        answer_all(folder)
        return
    from veclink.cli.app import main

    sys.argv = ["veclink", *words]
    main()


def in_order(lines: list[list[str]]) -> Iterator[str]:
    """What is wrong with the order of these calls."""
    for number, (call, *paths) in enumerate(lines):
        if call != "rename" or Path(paths[1]).name.startswith(".veclink-"):
            continue  # a name that nobody reads
        source, target = paths
        before = {line[1] for line in lines[:number] if line[0] == "fsync"}
        after = {line[1] for line in lines[number:] if line[0] == "fsync"}
        if not any(path == source or path.startswith(f"{source}/") for path in before):
            yield f"{target} was not on disk before it had its name"
        if str(Path(target).parent) not in after:
            yield f"the name {target} was not on disk afterwards"


@pytest.mark.parametrize("name", OURS)
def test_files_are_on_disk_before_they_have_their_names_and_the_names_after_it(
    papers: Path, tmp_path: Path, name: str
) -> None:
    case: Case = all_cases()[name]
    folder = tmp_path / "out"
    folder.mkdir()
    if case.older is not None:
        case.older(papers, folder)
    code, said = alone(noted, name, papers, folder, tmp_path / "log")
    assert code == 0, said
    lines = [line.split("\t") for line in (tmp_path / "log").read_text().splitlines()]
    assert list(in_order(lines)) == []
    assert any(line[0] == "fsync" for line in lines)
    if "journal" not in name:
        assert any(line[0] == "rename" for line in lines) or "folder" in name
