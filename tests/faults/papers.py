"""The files that every case begins with: papers with ids and titles, links, seeds, a translator's input."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from small_papers import N_SEEDS, small_papers
from store_kinds import lists
from veclink.data.links import Links
from veclink.linkers.linking import link

FIRST_A, FIRST_B = 10_000, 1
"""The least ids of either side: no id is on both, so that a merge writes them as they are."""
WIDTHS = {"a": 128, "b": 192}
"""Numbers of each vector, fewer than the models give: hundreds of runs are to take minutes."""
FEW = np.r_[0:80, 150:176]
"""Rows of a smaller collection, for what takes longer."""


def write_papers(folder: Path) -> None:
    """Files a.parquet and b.parquet with ids and titles, the same as .npy without, seeds, links of now and before."""
    a, b, truth = small_papers()
    folder.mkdir()
    ids = {"a": FIRST_A + np.arange(len(a)), "b": FIRST_B + np.arange(len(b))}
    for side, whole in (("a", a), ("b", b)):
        vectors = np.ascontiguousarray(whole[:, : WIDTHS[side]])
        titles = [f"Paper {row}" for row in range(len(vectors))]
        table = pa.table({"id": ids[side], "vector": lists(vectors), "title": titles})
        pq.write_table(table, folder / f"{side}.parquet")
        pq.write_table(table.take(FEW), folder / f"few-{side}.parquet")
        np.save(folder / f"{side}.npy", vectors)
    seeds = [(int(ids["a"][x]), int(ids["b"][y])) for x, y in truth[:N_SEEDS]]
    (folder / "seeds.csv").write_text("a,b\n" + "".join(f"{x},{y}\n" for x, y in seeds))
    (folder / "pairs.csv").write_text("a,b\n" + "".join(f"{x},{y}\n" for x, y in truth.tolist()))
    (folder / "texts.txt").write_text("".join(f"A sentence about the number {n}.\n" for n in range(40)))
    links = link(folder / "a.parquet", folder / "b.parquet", seeds=seeds, device="cpu")
    links.save(folder / "links.parquet")
    older_links(links).save(folder / "older.parquet")


def older_links(links: Links) -> Links:
    """Other links of the same collections, as a run of last week would have left: some fewer, and less sure."""
    keep = np.arange(20, len(links))
    return Links(
        links.pairs[keep],
        links.probability[keep] / 2,
        replace(links.summary, n_links=len(keep)),
        ids_a=None if links.ids_a is None else links.ids_a[keep],
        ids_b=None if links.ids_b is None else links.ids_b[keep],
    )
