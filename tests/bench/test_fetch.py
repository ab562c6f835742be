"""`veclink bench fetch`: published files become corpora that experiments read."""

from __future__ import annotations

import gzip
from pathlib import Path

from veclink_bench.corpora import read_corpus
from veclink_bench.fetch import fetch


def test_papers_are_found_in_the_anthology_in_the_order_of_the_list(tmp_path: Path) -> None:
    (tmp_path / "mirror" / "papers").mkdir(parents=True)
    entry = (
        "@inproceedings{{x,\n    title = \"{{T}}itle {0}\",\n    url = \"https://aclanthology.org/{0}\",\n"
        "    abstract = \"Of it.\"\n}}\n"
    )
    with gzip.open(tmp_path / "mirror" / "papers" / "anthology+abstracts.bib.gz", "wt") as bibtex:
        bibtex.write("".join(map(entry.format, ("N18-1161", "2020.lrec-1.152/", "2099.none-1.1/"))))
    fetch("papers", tmp_path / "papers", tmp_path / "mirror")
    found = read_corpus(tmp_path / "papers")
    assert found.ids == ["2020.lrec.1.152", "N18-1-161"] and found.texts[1] == "Title N18-1161 Of it."
