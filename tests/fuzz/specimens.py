"""What is right before it is mutated: one small collection in every kind of file and store, and what belongs to it."""

from __future__ import annotations

import json
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

ROWS, DIMENSION = 12, 4
RUN = "a" * 24


def batch():
    """Twelve vectors with ids and payload, as a batch for any store."""
    from veclink.stores.protocol import Batch

    return Batch(vectors(), ids(), payload())


def vectors(seed: int = 0, rows: int = ROWS) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(rows, DIMENSION)).astype(np.float32)


def ids() -> np.ndarray:
    made = np.empty(ROWS, object)
    made[:] = [f"p{row}" for row in range(ROWS)]
    return made


def payload() -> pa.Table:
    return pa.table({"title": [f"Title {row}" for row in range(ROWS)], "year": list(range(2000, 2000 + ROWS))})


def write(url: str, *, whole: bool = True) -> None:
    """The collection in the store or file at `url`; with payload and ids where it is to be `whole`."""
    from veclink.stores.opening import open_store
    from veclink.stores.protocol import Batch

    made = batch() if whole else Batch(vectors(), np.arange(ROWS), None)
    with open_store(url, write=True) as store:
        store.write([made])


def other_side(folder: Path) -> None:
    """A second collection and pairs of both, for the commands that need two."""
    write(str(folder / "other.parquet"))
    rows = "".join(f"p{row},p{row},0.{99 - row}\n" for row in range(ROWS - 2))
    (folder / "pairs.csv").write_text("a,b,probability\n" + rows)


_SHARED: list[Path] = []


def use_shared(folder: Path) -> None:
    """What the cases read and do not change is here."""
    _SHARED[:] = [folder]


def shared() -> Path:
    return _SHARED[0]


def make_shared(folder: Path) -> None:
    """Collections that are whole, and real links of real vectors, for all targets."""
    from small_papers import small_papers
    from veclink.linkers.linking import link

    use_shared(folder)
    other_side(folder)
    a, b, truth = small_papers()
    np.save(folder / "a.npy", a)
    np.save(folder / "b.npy", b)
    np.save(folder / "narrow.npy", a[:, :16])
    made = link(a, b, seeds=truth[:20], device="cpu")
    made.save(folder / "links.csv")
    made.save(folder / "links.parquet")


@cache
def papers() -> tuple[Any, Any]:
    """The two collections of the real links, with payload, opened once."""
    from dataclasses import replace

    from veclink.stores.opening import open_collection

    opened = (open_collection(shared() / name) for name in ("a.npy", "b.npy"))
    left, right = (replace(each, payload=_titles(len(each))) for each in opened)
    return left, right


def _titles(rows: int) -> pa.Table:
    return pa.table({"title": [f"Title {row}" for row in range(rows)]})


def with_ids(folder: Path) -> None:
    """Vectors with a file of ids beside them, and one as a table."""
    write(str(folder / "papers.npy"), whole=False)
    (folder / "papers.ids.csv").write_text("id,title\n" + "".join(f"p{row},t\n" for row in range(ROWS)))


def links_csv(folder: Path) -> None:
    for name in ("links.csv", "links.csv.json"):
        shutil.copy(shared() / name, folder)


def links_parquet(folder: Path) -> None:
    shutil.copy(shared() / "links.parquet", folder)


def journal(folder: Path) -> None:
    """Answers to some of the real links, as a review writes them, and as version 0.2 wrote them."""
    from veclink.data.links import Links
    from veclink.review.journal import Journal

    left, right = papers()
    lines: list[dict[str, object]] = [{"veclink_review": 1, "n_a": len(left), "n_b": len(right)}]  # of version 0.2
    pairs = Links.load(shared() / "links.parquet").pairs[:6].tolist()
    with Journal(folder / "other.sqlite", left, right) as kept:
        for place, (a, b) in enumerate(pairs):
            answer = ("accept", "reject", "skip")[place % 3]
            kept.add((a, b), answer, (a, b + 1) if place == 1 else None)
            of_a, of_b = kept.names((a, b))
            lines.append({"n": place + 1, "at": "", "tab": "t", "answer": answer, "a": of_a, "b": of_b})
        kept.undo()
    lines.append({"n": 7, "at": "", "tab": "t", "undoes": 6})
    (folder / "journal.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def payload_file(folder: Path) -> None:
    """What to show of 200 objects, in each of its formats."""
    import pyarrow.csv
    import pyarrow.parquet

    table = _titles(200).append_column("year", pa.array(range(200)))
    pyarrow.parquet.write_table(table, folder / "payload.parquet")
    pyarrow.csv.write_csv(table, folder / "payload.csv")
    (folder / "payload.jsonl").write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))


def translator(folder: Path) -> None:
    from veclink.data.links import Links
    from veclink.uses.translating import Translator

    here = shared()
    a, b = (np.load(here / name)[:, :16] for name in ("a.npy", "b.npy"))
    made = Translator.fit(Links.load(here / "links.parquet").pairs, a, b, map="ridge")
    made.save(folder / "map.safetensors")


def checkpoint(folder: Path) -> None:
    from veclink.linkers.checkpoint import Checkpoint

    arrays = {"pool": np.arange(40).reshape(20, 2), "odds": np.linspace(0, 1, 20)}
    Checkpoint(folder, RUN).save("grow", np.random.default_rng(1), arrays, {"steps": [1, 2]})
