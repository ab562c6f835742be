"""The bundled sample: 3,000 papers of the ACL Anthology (CC BY 4.0, see NOTICE), 900 of them in both collections.

`A` holds all-MiniLM-L6-v2 vectors and `B` all-mpnet-base-v2 vectors of titles and abstracts, with id, title, year and
venue. `TRUTH` lists the 900 shared papers as pairs of ids, `SEEDS` 15 of them. `SENTENCES` is no part of it: 300 plain
sentences on all sorts of things, written for veclink, that any two models can embed as anchors.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent
A = FOLDER / "a.parquet"
B = FOLDER / "b.parquet"
TRUTH = FOLDER / "truth.csv"
SEEDS = FOLDER / "seeds.csv"
SENTENCES = FOLDER / "sentences.txt"
