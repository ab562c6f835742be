"""Cut the bundled sample out of the corpus `papers`: papers.csv, minilm.npy and mpnet.npy, row i being the same paper.

    veclink bench make-sample --data DIR [--out src/veclink/sample]

3,000 papers are drawn; 900 of them are in both collections, the other 2,100 are split evenly. A holds all-MiniLM-L6-v2
vectors, B all-mpnet-base-v2 vectors, each in an order of its own. The same input gives the same sample.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from veclink_bench.arguments import parser
from veclink_bench.places import ROOT, data_folder
from veclink_bench.splits import draw_seeds, split

PAPERS, OVERLAP, SEEDS = 3_000, 0.3, 15
RANDOM_STATE = 2026


def main() -> None:
    """Draw the papers and write a.parquet, b.parquet, truth.csv and seeds.csv."""
    arguments = parser(__doc__, data=True)
    arguments.add_argument("--out", type=Path, default=ROOT / "src" / "veclink" / "sample")
    given = arguments.parse_args()

    folder = data_folder(given.data) / "papers"
    papers = pa.csv.read_csv(folder / "papers.csv")
    rng = np.random.default_rng(RANDOM_STATE)
    drawn = rng.permutation(len(papers))[:PAPERS]
    cut = split(PAPERS, OVERLAP, rng)
    rows_a, rows_b = drawn[cut.rows_a], drawn[cut.rows_b]
    seeds = draw_seeds(cut.truth, SEEDS, rng)

    write_collection(given.out / "a.parquet", papers, rows_a, folder / "minilm.npy")
    write_collection(given.out / "b.parquet", papers, rows_b, folder / "mpnet.npy")
    ids = papers["id"].to_pylist()
    for name, pairs in (("truth", cut.truth), ("seeds", seeds)):
        write_pairs(given.out / f"{name}.csv", sorted(ids[row] for row in rows_a[pairs[:, 0]]))


def write_collection(path: Path, papers: pa.Table, rows: np.ndarray, vectors: Path) -> None:
    """Write the papers of these rows with their vectors, in the order given."""
    chosen = np.load(vectors)[rows]
    column = pa.FixedSizeListArray.from_arrays(pa.array(chosen.ravel()), chosen.shape[1])
    table = papers.take(pa.array(rows)).select(["id", "title", "year", "venue"]).append_column("vector", column)
    # Vectors do not repeat: a dictionary would only add to the file, and byte streams compress a little.
    pa.parquet.write_table(table, path, compression="zstd", use_dictionary=["venue"], write_statistics=False)


def write_pairs(path: Path, ids: list[str]) -> None:
    """Write pairs of ids; a paper keeps its id in both collections, so the truth can be read."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["a", "b"])
        writer.writerows([one, one] for one in ids)
