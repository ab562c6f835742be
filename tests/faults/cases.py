"""Every command that writes, with every target that it can write to: what is there before, and what is read after."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from faults import contents, journal
from store_kinds import KINDS, Kind, ids_of, payload_of, rows_of
from veclink.data.links import Links
from veclink.stores import open_store
from veclink.stores.protocol import Batch
from veclink.uses.exporting import export_links

OLDER_ROWS = 40
ENGINES = [kind for kind in KINDS if kind.links]
# Prints for each text a vector that begins with the number of its run, and is otherwise of the text alone.
SHORT = (
    "merge to npy, replacing",
    "merge to parquet folder, replacing",
    "merge to sqlite, replacing",
    "merge to postgres, replacing",
    "export to duckdb, over older links",
    "annotate qdrant",
    "translate to npy, and save the translator",
    "link by geh with a checkpoint",
    "review journal",
)
"""Cases of every way of writing, for a run of a minute."""


@dataclass(frozen=True)
class Case:
    """A command that writes.

    Attributes
    ----------
    name : str
        What it writes to what.
    words : callable of (papers, folder)
        The command; what it writes is in `folder`.
    look : callable of folder
        What is there, as a short text; an InputError that says "does not exist" where there is nothing.
    older : callable of (papers, folder), optional
        Makes what is there before.
    in_files : bool
        Whether all of it lies in `folder`, so that what is there before can be copied.
    steps : bool
        Whether it goes on where it was killed, so that what is there may be a part of the end.
    """

    name: str
    words: Callable[[Path, Path], list[object]]
    look: Callable[[Path], str]
    older: Callable[[Path, Path], None] | None = None
    in_files: bool = True
    steps: bool = False


def all_cases() -> dict[str, Case]:
    """All of them by name."""
    made = [*_merged(), *_exported(), *_annotated(), *_translated(), *_files(), journal_case()]
    return {case.name: case for case in made}


def _merged() -> list[Case]:
    cases = []
    for kind in KINDS:
        cases.append(_merging(kind, replace=False))
        if kind.replaces:
            cases.append(_merging(kind, replace=True))
    return cases


def _merging(kind: Kind, *, replace: bool) -> Case:
    def words(papers: Path, folder: Path) -> list[object]:
        files = (papers / "a.parquet", papers / "b.parquet", "--links", papers / "links.parquet")
        more = ("--yes", "--replace") if replace else ("--yes",)
        return ["merge", *files, "--map", "procrustes", "-o", kind.url(folder, "papers"), *more]

    def older(papers: Path, folder: Path) -> None:
        payload = payload_of(OLDER_ROWS) if kind.payload else None
        write(kind.url(folder, "papers"), Batch(rows_of(OLDER_ROWS), ids_of(kind.ids[0], OLDER_ROWS), payload))

    name = f"merge to {kind.name}" + (", replacing" if replace else "")

    def look(folder: Path) -> Any:
        return contents.collection(kind.url(folder, "papers"))

    return Case(name, words, look, older if replace else None, in_files=kind.name != "postgres")


def _exported() -> list[Case]:
    cases = []
    for kind in ENGINES:
        for changed in (False, True):
            cases.append(_exporting(kind, changed=changed))
    return cases


def _exporting(kind: Kind, *, changed: bool) -> Case:
    def words(papers: Path, folder: Path) -> list[object]:
        return ["cut", papers / "links.parquet", "-o", kind.url(folder, "links"), "--yes"]

    def older(papers: Path, folder: Path) -> None:
        export_links(Links.load(papers / "older.parquet"), kind.url(folder, "links"), write=True)

    name = f"export to {kind.name}" + (", over older links" if changed else "")

    def look(folder: Path) -> Any:
        return contents.table_of_links(kind.url(folder, "links"))

    return Case(name, words, look, older if changed else None, in_files=kind.name != "postgres")


def _annotated() -> list[Case]:
    return [_annotating(kind) for kind in ENGINES]


def _annotating(kind: Kind) -> Case:
    def words(papers: Path, folder: Path) -> list[object]:
        return ["cut", papers / "links.parquet", "-o", kind.url(folder, "papers"), "--annotate", "a", "--yes"]

    def older(papers: Path, folder: Path) -> None:
        from veclink.stores.opening import open_collection

        read = open_collection(papers / "a.parquet")
        small = np.ascontiguousarray(read.vectors[:, :8])
        write(kind.url(folder, "papers"), Batch(small, read.ids, read.payload))

    def look(folder: Path) -> Any:
        return contents.notes(kind.url(folder, "papers"))

    return Case(f"annotate {kind.name}", words, look, older, in_files=kind.name != "postgres")


def _translated() -> list[Case]:
    def words(papers: Path, folder: Path) -> list[object]:
        given = ("--links", papers / "links.parquet", "--a", papers / "a.parquet", "--b", papers / "b.parquet")
        saved = ("--save", folder / "t.safetensors")
        return ["translate", papers / "a.parquet", *given, "--map", "procrustes", *saved, "-o", folder / "t.npy"]

    def words_without_ids(papers: Path, folder: Path) -> list[object]:
        given = ("--links", papers / "pairs.csv", "--a", papers / "a.npy", "--b", papers / "b.npy")
        return ["translate", papers / "a.npy", *given, "--map", "procrustes", "-o", folder / "t.npy", "--replace"]

    def both(folder: Path) -> str:
        return f"{contents.collection(folder / 't.npy')}, {contents.translator(folder / 't.safetensors')}"

    def vectors(folder: Path) -> str:
        return contents.collection(folder / "t.npy")

    def with_ids(papers: Path, folder: Path) -> None:
        write(str(folder / "t.npy"), Batch(rows_of(200), ids_of("str", 200)))

    def with_own_ids(papers: Path, folder: Path) -> None:
        np.save(folder / "t.npy", rows_of(200))
        (folder / "t.ids.txt").write_text("".join(f"own {row}\n" for row in range(200)))

    return [
        Case("translate to npy, and save the translator", words, both),
        Case("translate to npy without ids, replacing one with ids", words_without_ids, vectors, with_ids),
        Case("translate to npy, replacing one with own ids", words_without_ids, vectors, with_own_ids),
    ]


def _files() -> list[Case]:
    """Commands that write files, over those of another run."""
    cases = [
        _linking("link to csv, with a report", "links.csv", "--report", "links.html"),
        _linking("link to parquet", "links.parquet"),
        _linking("link with a checkpoint", "links.csv", "--checkpoint", "kept"),
        _linking("link by geh with a checkpoint", "links.parquet", "--checkpoint", "kept", "--method", "geh"),
    ]

    def probe(papers: Path, folder: Path) -> list[object]:
        return ["inspect", papers / "a.parquet", papers / "b.parquet", "--seeds", papers / "seeds.csv", "--no-forecast",
                "--device", "cpu", "--report", folder / "probe.html"]  # fmt: skip

    def older_page(papers: Path, folder: Path) -> None:
        (folder / "probe.html").write_text("<p>A page of last week</p>")

    def cluster(papers: Path, folder: Path) -> list[object]:
        return ["cluster", papers / "a.parquet", papers / "b.parquet", "--links", papers / "links.parquet",
                "--resolution", "1", "--device", "cpu", "-o", folder / "clusters.csv"]  # fmt: skip

    def dedupe(papers: Path, folder: Path) -> list[object]:
        return ["merge", papers / "a.parquet", papers / "b.parquet", "--links", papers / "links.parquet", "--dedupe",
                "--yes", "--replace", "-o", folder / "dedupe.parquet"]  # fmt: skip

    def older_table(name: str) -> Callable[[Path, Path], None]:
        def write_older(papers: Path, folder: Path) -> None:
            (folder / name).write_bytes(b"of last week")

        return write_older

    return [
        *cases,
        Case("inspect with a report", probe, lambda folder: contents.page(folder / "probe.html"), older_page),
        Case("cluster", cluster, lambda folder: contents.text(folder / "clusters.csv"), older_table("clusters.csv")),
        Case("dedupe", dedupe, lambda folder: contents.text(folder / "dedupe.parquet"), older_table("dedupe.parquet")),
    ]


def _linking(name: str, output: str, *more: str) -> Case:
    """Link, over the links of another run."""

    def words(papers: Path, folder: Path) -> list[object]:
        given = [folder / each if each in ("links.html", "kept") else each for each in more]
        few = "few-" if "geh" in more else ""
        return ["link", papers / f"{few}a.parquet", papers / f"{few}b.parquet", "--seeds", papers / "seeds.csv",
                "--device", "cpu", "-o", folder / output, *given]  # fmt: skip

    def older(papers: Path, folder: Path) -> None:
        Links.load(papers / "older.parquet").save(folder / output)

    return Case(name, words, lambda folder: contents.links(folder / output), older)


def journal_case() -> Case:
    """Answers of a review, one after the other; `journal.answer_all` stands for the command."""
    return Case("review journal", lambda papers, folder: ["answer", folder], journal.content, steps=True)


def write(url: str, batch: Batch) -> None:
    """Write one batch to a store."""
    with open_store(url, write=True) as store:
        store.write([batch])
