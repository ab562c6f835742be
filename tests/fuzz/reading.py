"""How veclink reads what was mutated: by its commands where there is one, else by the functions that its pages call."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from fuzz import specimens
from fuzz.mutations import WORDS, changed_text
from fuzz.running import Fault, command

SCHEMES = (
    "lancedb", "lance", "qdrant", "chroma", "milvus", "postgresql", "sqlite", "faiss", "duckdb", "parquet", "hdf5",
    "file", "http", "C", "", "SQLITE", "s3",
)  # fmt: skip
MARKS = ("#", "?", "&", "=", "%", "%00", "%zz", "@", ":", "//", "[::1]", ":99999", "\n", "é", "..", "?where=", "?tls=1")
SLOW = ("demo", "bench", "review")
"""Commands whose right use takes seconds or never ends: they get options that are wrong."""


def collection(url: str, rng: Random, whole: bool) -> str:
    """A collection, without its payload or with it, sometimes through a filter or with other fields."""
    shared = specimens.shared()
    mark = "&" if "?" in url else "?"
    if rng.random() < 0.15 and "://" in url:
        more = rng.choice(("where=year>2003", "where=title=x", "vector=vector", "vector=title", "id=year", "id=vector"))
        url = f"{url}{mark}{more}"
    if not whole or rng.random() < 0.5:
        return command("inspect", url, "--json")
    return command("eval", shared / "pairs.csv", url, shared / "other.parquet", "--by", "title", "--json")


def pairs(folder: Path, rng: Random) -> str:
    """Pairs as links, as truth, and as what a merge goes by."""
    changed, shared = folder / "pairs.csv", specimens.shared()
    a = shared / "other.parquet"
    ways: list[list[Any]] = [
        ["eval", changed, "--truth", shared / "pairs.csv"],
        ["eval", shared / "pairs.csv", "--truth", changed],
        ["eval", changed, a, a, "--by", "title"],
        ["merge", a, a, "--links", changed, "-o", folder / "merged.npy"],
    ]
    return command(*rng.choice(ways))


def ids(folder: Path, rng: Random) -> str:
    """Ids in a file beside the vectors."""
    if rng.random() < 0.7:
        return command("inspect", folder / "papers.npy", "--json")
    from veclink.stores.files import read_ids

    return refused_or(lambda: read_ids(folder / rng.choice(("papers.ids.txt", "papers.ids.csv"))))


def links(folder: Path, rng: Random) -> str:
    """Links, as every command that takes them reads them."""
    from veclink.data.links import Links

    path = folder / ("links.csv" if (folder / "links.csv.json").exists() else "links.parquet")
    shared = specimens.shared()
    a, b = shared / "a.npy", shared / "b.npy"
    way = rng.choices(range(6), (3, 3, 1, 3, 1, 5))[0]  # a merge and a report take half a second
    if way == 0:
        return command("eval", path, a, b, "--by", "title")
    if way == 1:
        return command("cut", path, "-o", f"sqlite://{folder}/links.db#links", *(["--yes"] * rng.randrange(2)))
    if way == 2:
        return command("merge", a, b, "--links", path, "-o", folder / "merged.npy")

    def shown() -> None:
        found = Links.load(path)
        reviewed(found, folder / "new.jsonl")

    def reported() -> None:
        from veclink.report import save_report

        left, right = specimens.papers()
        save_report(folder / "report.html", Links.load(path), left, right)

    def moved() -> None:
        found = Links.load(path).at(precision=0.9)
        found.explain(0)
        found.summary.to_dict()

    return refused_or((shown, reported, moved)[way - 3])


def reviewed(found: Any, path: Path) -> None:
    """Everything that the review page shows, and an answer to each of the first links."""
    from veclink.review import Review
    from veclink.review.again import Status
    from veclink.review.journal import Journal
    from veclink.review.server import templates

    left, right = specimens.papers()
    with Journal(path, left, right) as kept:
        review, page = Review(found, left, right, kept), templates().get_template("moved.html")
        for answer in ("accept", "reject", "skip"):
            link = review.next()
            page.render(review=review, link=link, state=review.state(), run=Status(), said="", alert="", skipped=False)
            if link is None:
                break
            review.answer((link["a"]["row"], link["b"]["row"]), answer)
        review.undo()
        for what in ("truth", "seeds", "decisions"):
            review.export(what)


def journal(folder: Path, rng: Random) -> str:
    """The answers of an earlier review."""
    from veclink.data.links import Links

    return refused_or(
        lambda: reviewed(
            Links.load(specimens.shared() / "links.parquet"), folder / rng.choice(("journal.jsonl", "other.sqlite"))
        )
    )


def payload(folder: Path, rng: Random) -> str:
    """Payload in a file of its own."""
    from veclink.review import side
    from veclink.stores.opening import with_payload

    def read() -> None:
        left, _ = specimens.papers()
        path = folder / rng.choice(("payload.csv", "payload.jsonl", "payload.parquet"))
        found = with_payload(left, path)
        for row in range(3):
            side(found, row)

    return refused_or(read)


def translator(folder: Path, rng: Random) -> str:
    """A saved translator."""
    source = specimens.shared() / "narrow.npy"
    return command("translate", source, "--with", folder / "map.safetensors", "-o", folder / "out.npy", "--replace")


def checkpoint(folder: Path, rng: Random) -> str:
    """A stage of an earlier run: taken as it was saved, or not at all."""
    from veclink.linkers.checkpoint import Checkpoint

    held = Checkpoint(folder, specimens.RUN).load("grow", np.random.default_rng(0))
    if held is None:
        return "refused"
    if not np.array_equal(held[0]["pool"], np.arange(40).reshape(20, 2)):
        raise Fault("a changed checkpoint was gone on from")
    return "read"


def url(folder: Path, rng: Random) -> str:
    """URLs of all kinds, taken apart; those of files are opened as well."""
    from veclink.stores.opening import address_of

    text = f"{rng.choice(SCHEMES)}://{rng.choice(('', 'host', 'u:p@host', str(folder)))}/{rng.choice(WORDS)}"
    for _ in range(rng.randrange(5)):
        text += rng.choice(MARKS) + rng.choice(("", "x", "table", "where", "year>=2020", rng.choice(WORDS)))
    if rng.random() < 0.5:
        text = changed_text(text, rng)

    told = refused_or(lambda: address_of(text))
    if told == "read" and address_of(text).path is not None and text.isprintable() and "\0" not in text:
        return command("inspect", text)
    return told


def refused_or(read: Any) -> str:
    """'read', or 'refused' where it ends in a sentence."""
    from veclink.errors import VeclinkError

    try:
        read()
    except (VeclinkError, OSError) as error:  # the command line tells both as a sentence
        return "refused" if str(error) else _fault(error)
    return "read"


def _fault(error: Exception) -> str:
    raise Fault(f"an error without a word: {error!r}")
