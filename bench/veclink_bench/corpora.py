"""Corpora: vectors of public texts on disk, and the texts themselves in the layouts of BEIR and of MTEB.

A folder of data holds a folder for each corpus. In it are MODEL.npy files, row i of each being the same object, or the
texts, from which a model's file is made when it is first asked for:

* BEIR: corpus.jsonl (`_id`, `title`, `text`), queries.jsonl, qrels/test.tsv (`query-id`, `corpus-id`, `score`);
* MTEB: the same tables as corpus/, queries/ and qrels/ folders of Parquet or JSON-lines files; or, for clustering,
  files named test with the columns `sentences` and `labels`.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from veclink.errors import InputError, needed
from veclink.files.atomic import written_whole


@dataclass(frozen=True, eq=False)
class Corpus:
    """Texts with their ids; queries and which documents answer them (retrieval), or a label each (clustering).

    qrels: for each query id the ids of the documents that answer it, with their grades.
    """

    ids: list[str]
    texts: list[str]
    queries: dict[str, str] = field(default_factory=dict)
    qrels: dict[str, dict[str, int]] = field(default_factory=dict)
    labels: list[str] | None = None

    def __len__(self) -> int:
        return len(self.texts)


def vectors(data: Path, corpus: str, model: str, rows: int | None = None) -> np.ndarray:
    """The vectors of a corpus by a model, the first `rows` of them; encoded and stored first where only texts are."""
    folder = data / corpus
    file = folder / f"{file_name(model)}.npy"
    if not file.exists():
        encode_corpus(folder, model, file)
    found = np.load(file, mmap_mode="r")
    return found if rows is None else found[:rows]


def queries(data: Path, corpus: str, model: str) -> tuple[np.ndarray, list[dict[int, int]]]:
    """A model's vectors of the queries, and for each the rows of the documents that answer it, with their grades."""
    folder = data / corpus
    file = folder / f"queries.{file_name(model)}.npy"
    if (folder / "qrels.tsv").exists():  # row numbers, beside vectors
        found = np.load(file)
        answers: list[dict[int, int]] = [{} for _ in found]
        for row in _rows(folder / "qrels.tsv"):
            answers[int(row["query"])][int(row["document"])] = int(row["relevance"])
        return found, answers
    texts = read_corpus(folder)
    if not texts.queries:
        raise InputError(f"{folder} has no queries with answers; merging is measured by retrieval, which needs them.")
    if not file.exists():
        encode_corpus(folder, model, file, list(texts.queries.values()))
    place = {name: row for row, name in enumerate(texts.ids)}
    graded = [texts.qrels[query] for query in texts.queries]
    return np.load(file), [{place[name]: grade for name, grade in each.items() if name in place} for each in graded]


def labels(data: Path, corpus: str) -> np.ndarray:
    """The label of each object of a corpus for clustering."""
    file = data / corpus / "labels.txt"
    if file.exists():
        return np.array(file.read_text(encoding="utf-8").splitlines())
    found = read_corpus(data / corpus).labels
    if found is None:
        raise InputError(f"{data / corpus} has no labels; clusters are measured against them.")
    return np.array(found)


def corpora_in(data: Path) -> list[str]:
    """The corpora of a folder of data, by name."""
    return sorted(each.name for each in data.iterdir() if each.is_dir() and not each.name.startswith("."))


def encode_corpus(folder: Path, model: str, file: Path, texts: list[str] | None = None) -> None:
    """Write a model's vectors of some texts (those of the folder) to `file`, float16."""
    if not folder.is_dir():
        raise InputError(f"There is no corpus {folder.name!r} in {folder.parent}; it would be the folder {folder}.")
    if ":" not in model:
        raise InputError(
            f"There is no {file.name} in {folder}, and {model!r} names no encoder that could make it "
            "(st:NAME, openai:NAME or mistral:NAME)."
        )
    from veclink_bench.encoders import encode

    texts = read_corpus(folder).texts if texts is None else texts
    found = encode(texts, model)
    with written_whole(file) as temporary:
        np.save(temporary, found.astype(np.float16))


def file_name(model: str) -> str:
    """A model's name as the name of a file: what is not a letter, digit, dot or hyphen becomes an underscore."""
    return re.sub(r"[^\w.\-]+", "_", model)


def read_corpus(folder: str | Path, split: str = "test") -> Corpus:
    """The texts in a folder, in whichever layout it has."""
    folder = Path(folder)
    if (folder / "corpus.jsonl").exists() or (folder / "corpus").is_dir():
        return _read_retrieval(folder, split)
    for ending in (".jsonl", ".jsonl.gz", ".parquet"):
        found = sorted(folder.rglob(f"{split}*{ending}"))
        if found:
            return _read_clustering(found)
    raise InputError(
        f"{folder} holds no texts that are known: corpus.jsonl (BEIR), corpus/ (MTEB retrieval), or {split}*.jsonl or "
        f"{split}*.parquet (MTEB clustering)."
    )


def _read_retrieval(folder: Path, split: str) -> Corpus:
    ids, texts = [], []
    for row in _table(folder, "corpus"):
        ids.append(str(row["_id"]))
        texts.append(f"{row.get('title') or ''} {row['text']}".strip())
    queries = {str(row["_id"]): str(row["text"]) for row in _table(folder, "queries")}
    qrels: dict[str, dict[str, int]] = {}
    for row in _qrels(folder, split):
        qrels.setdefault(str(row["query-id"]), {})[str(row["corpus-id"])] = int(float(row["score"]))
    return Corpus(ids, texts, {query: text for query, text in queries.items() if query in qrels}, qrels)


def _read_clustering(files: list[Path]) -> Corpus:
    texts: list[str] = []
    labels: list[str] = []
    for file in files:
        for row in _rows(file):
            # A row is one text with its label, or a whole set of both.
            found, given = row.get("sentences", row.get("sentence")), row.get("labels", row.get("label"))
            if found is None or given is None:
                raise InputError(f"{file} has the columns {', '.join(row)}; clustering needs sentences and labels.")
            texts += [found] if isinstance(found, str) else list(found)
            labels += [str(given)] if isinstance(given, (str, int)) else [str(each) for each in given]
    if len(texts) != len(labels):
        raise InputError(f"{files[0].parent} has {len(texts):,} sentences and {len(labels):,} labels; give one each.")
    return Corpus([str(row) for row in range(len(texts))], texts, labels=labels)


def _table(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    single = folder / f"{name}.jsonl"
    files = [single] if single.exists() else sorted((folder / name).glob("*"))
    for file in files:
        for row in _rows(file):
            if "_id" not in row or "text" not in row:
                raise InputError(f"{file} has a row with the columns {', '.join(row)}; it needs _id and text.")
            yield row


def _qrels(folder: Path, split: str) -> Iterator[dict[str, Any]]:
    places = [folder / "qrels" / f"{split}.tsv", folder / "qrels"]
    place = next((each for each in places if each.exists()), None)
    if place is None:
        return
    files = [place] if place.is_file() else [file for file in sorted(place.glob("*")) if split in file.name]
    for file in files:
        yield from _rows(file)


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    """The rows of a JSON-lines (also gzipped), TSV or Parquet file."""
    if file.suffix == ".parquet":
        parquet: Any = needed("pyarrow.parquet", "Reading Parquet")
        for batch in parquet.ParquetFile(file).iter_batches():
            yield from batch.to_pylist()
        return
    if file.suffix == ".gz":
        import gzip

        text = gzip.open(file, "rt", encoding="utf-8")
    else:
        text = file.open(encoding="utf-8", newline="")
    with text as lines:
        if file.suffix == ".tsv":
            yield from csv.DictReader(lines, delimiter="\t")
            return
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    yield json.loads(line)
                except json.JSONDecodeError as error:
                    raise InputError(f"Line {number} of {file} is not JSON ({error.msg}); repair it.") from error
