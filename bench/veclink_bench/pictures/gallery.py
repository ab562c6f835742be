"""The gallery of reports in the documentation: five small cuts of the bundled sample, each with another verdict.

    veclink bench gallery

Written to docs/gallery. Each verdict is checked: a page that shows another one than its name says is not written.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from veclink import link, sample
from veclink.data.collection import Collection
from veclink.data.pairs import read_pairs
from veclink.report import save_report
from veclink.stores.opening import open_collection
from veclink_bench.arguments import parser
from veclink_bench.places import ROOT

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
    """

    shared: int
    only_a: int
    only_b: int
    verdict: str
    copies: int = 0
    seeds: int = SHARED_SEEDS


CUTS = {
    "linkable": Cut(240, 120, 120, "linkable"),
    "doubtful": Cut(60, 540, 540, "doubtful", seeds=15),
    "not-linkable": Cut(0, 300, 300, "not linkable", seeds=0),
    "copies": Cut(200, 100, 100, "linkable", copies=40),
    "unequal": Cut(110, 10, 590, "linkable"),
}


def main() -> None:
    """Link each cut and write its report."""
    options = parser(__doc__)
    options.add_argument("--only", choices=CUTS, help="this one alone")
    wanted = options.parse_args().only
    GALLERY.mkdir(exist_ok=True)
    for name, cut in CUTS.items():
        if wanted in (None, name):
            write(name, cut)


def write(name: str, cut: Cut) -> None:
    """The report of one cut; ends the process where its verdict is another one."""
    a, b, shared = collections(cut)
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
