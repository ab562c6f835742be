"""The gallery of reports in the documentation: small cuts of the bundled sample, each with another verdict.

    veclink bench gallery --data DIR

Written to docs/gallery. Each verdict is checked: a page that shows another one than its name says is not written.
DIR/papers holds the vectors of the titles alone, for two catalogues that are written differently.
"""

from __future__ import annotations

import csv
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from veclink import link, sample
from veclink.data.collection import Collection
from veclink.data.pairs import read_pairs
from veclink.report import save_report
from veclink.stores.opening import open_collection
from veclink_bench.arguments import parser
from veclink_bench.places import ROOT, data_folder

GALLERY = ROOT / "docs" / "gallery"
SHARED_SEEDS = 12


@dataclass(frozen=True)
class Cut:
    """A cut of the sample: how many papers both sides have, how many each has alone, and how it is linked.

    Attributes
    ----------
    shared, only_a, only_b : int
        Papers of each kind.
    copies : int
        Rows of A that stand there twice.
    seeds : int
        Known pairs that are given.
    verdict : str
        What the report has to say.
    titles_alone : bool
        Whether A has vectors of the titles alone, and of the titles what is before the colon: another catalogue.
    """

    shared: int
    only_a: int
    only_b: int
    verdict: str
    copies: int = 0
    seeds: int = SHARED_SEEDS
    titles_alone: bool = False


CUTS = {
    "linkable": Cut(240, 120, 120, "linkable"),
    "doubtful": Cut(60, 540, 540, "doubtful", seeds=15),
    "not-linkable": Cut(0, 300, 300, "not linkable", seeds=0),
    "copies": Cut(200, 100, 100, "linkable", copies=40),
    "unequal": Cut(110, 10, 590, "linkable"),
    "two-catalogues": Cut(700, 250, 250, "linkable", seeds=10, titles_alone=True),
}


def main() -> None:
    """Link each cut and write its report."""
    arguments = parser(__doc__, data=True)
    arguments.add_argument("--only", choices=CUTS, help="this one alone")
    options = arguments.parse_args()
    GALLERY.mkdir(exist_ok=True)
    for name, cut in CUTS.items():
        if options.only in (None, name):
            write(name, cut, data_folder(options.data) / "papers")


def write(name: str, cut: Cut, papers: Path) -> None:
    """The report of one cut; ends the process where its verdict is another one. papers: the folder of the titles."""
    a, b, shared = collections(cut)
    if cut.titles_alone:
        a = written_otherwise(a, papers)
    seeds: Any = shared[: cut.seeds] if cut.seeds else None
    links = link(a, b, seeds=seeds, device="cpu")
    found = links.summary.verdict
    if found != cut.verdict:
        sys.exit(f"The report {name!r} would say {found!r} instead of {cut.verdict!r}; cut the sample otherwise.")
    path = GALLERY / f"{name}.html"
    save_report(path, links, a, b)
    print(f"{path.name}: {len(links):,} links, {found}, {path.stat().st_size / 1024:.0f} kB")


def collections(cut: Cut) -> tuple[Collection, Collection, np.ndarray]:
    """Both sides of a cut, shuffled, and the shared papers among them as pairs of ids (n, 2)."""
    rng = np.random.default_rng(0)
    whole_a, whole_b = open_collection(sample.A), open_collection(sample.B)
    true = np.column_stack(read_pairs(sample.TRUTH))
    shared = true[rng.permutation(len(true))[: cut.shared]]
    rows_a = _rows(whole_a, shared[:, 0], true[:, 0], cut.only_a, rng)
    rows_b = _rows(whole_b, shared[:, 1], true[:, 1], cut.only_b, rng)
    a = _collection(whole_a, np.concatenate([rows_a, rows_a[: cut.copies]]), "papers-minilm")
    b = _collection(whole_b, rows_b, "papers-mpnet")
    return a, b, shared


def written_otherwise(a: Collection, papers: Path) -> Collection:
    """The same papers as a catalogue of its own that knows no abstracts."""
    assert a.ids is not None and a.payload is not None
    with (papers / "papers.csv").open(encoding="utf-8", newline="") as file:
        row_of = {line["id"]: row for row, line in enumerate(csv.DictReader(file))}
    vectors = np.load(papers / "titles.minilm.npy")[[row_of[each] for each in a.ids.tolist()]]
    short = pa.table({"title": [title.split(":")[0] for title in a.payload["title"].to_pylist()]})
    return Collection.from_array(vectors, a.ids, short, name="titles-minilm")


def _rows(
    whole: Collection, shared: np.ndarray, in_both: np.ndarray, alone: int, rng: np.random.Generator
) -> np.ndarray:
    """The rows of the shared papers, and of others that the other side does not have, in any order."""
    assert whole.ids is not None
    place = {each: row for row, each in enumerate(whole.ids.tolist())}
    known = set(in_both.tolist())
    own = np.array([row for each, row in place.items() if each not in known])
    chosen = [place[each] for each in shared.tolist()]
    return rng.permutation(np.concatenate([chosen, rng.permutation(own)[:alone]]).astype(np.int64))


def _collection(whole: Collection, rows: np.ndarray, name: str) -> Collection:
    """These rows of the sample; a copy has an id of its own."""
    assert whole.ids is not None and whole.payload is not None
    ids, seen = [], set()
    for each in whole.ids[rows].tolist():
        ids.append(f"{each}-copy" if each in seen else each)
        seen.add(each)
    return Collection.from_array(whole.vectors[rows], ids, whole.payload.take(rows), name=name)


if __name__ == "__main__":
    main()
