"""Fetch the texts of the corpora from where they are published, and make vectors of them: `veclink bench fetch`.

    veclink bench fetch --data DIR [--corpora scifact,papers] [--mirror FOLDER] [--texts-only]

Each corpus becomes a folder of DIR: its texts in the layout of BEIR or MTEB, and MODEL.npy of each encoder. What is
there is left as it is. FOLDER holds files that were downloaded by other means: FOLDER/CORPUS/NAME, under the names of
the URLs.

scifact and nfcorpus are BEIR's, all rows; papers are the titles and abstracts that bench/corpora/papers.txt names in
the ACL Anthology (CC BY 4.0), movies the lead paragraphs of Wikipedia that bench/corpora/movies.tsv names (CC BY-SA
4.0); reddit and stackexchange are 2,048 titles drawn from MTEB's sets: which ones were measured is not known. For the
licences of BEIR's and MTEB's sets see their own pages. What is gone since is counted, and left out.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
import urllib.request
import zipfile
from pathlib import Path

import numpy as np

from veclink.errors import InputError, VeclinkError
from veclink.files.atomic import written_whole
from veclink_bench.arguments import parser
from veclink_bench.corpora import encode_corpus, read_corpus
from veclink_bench.places import BENCH

BEIR = "https://public.ukp.informatik.tu-darmstadt.de/thakur/BEIR/datasets/"
ANTHOLOGY = "https://aclanthology.org/anthology+abstracts.bib.gz"
FILMS = "https://raw.githubusercontent.com/prust/wikipedia-movie-data/master/movies-{}s.json"
MTEB = "https://huggingface.co/datasets/mteb/{}-clustering/resolve/main/test.jsonl.gz"
DECADES = (1970, 1980, 1990, 2000, 2010, 2020)
CORPORA = ("scifact", "nfcorpus", "papers", "movies", "reddit", "stackexchange")
DRAWN = 2048
Texts = dict[str, dict[str, str]]
# Of each model: where it is found, and what stands before a text and before a query.
MODELS = {
    "minilm": ("st:sentence-transformers/all-MiniLM-L6-v2", "", ""),
    "mpnet": ("st:sentence-transformers/all-mpnet-base-v2", "", ""),
    "e5": ("st:intfloat/e5-small", "passage: ", "query: "),
}


def main() -> None:
    """Make the folders that are not there yet."""
    arguments = parser(__doc__)
    arguments.add_argument("--data", type=Path, required=True, help="where the corpora's folders are, or are made")
    arguments.add_argument("--corpora", default=",".join(CORPORA), help="by comma")
    arguments.add_argument("--mirror", type=Path, default=None, help="a folder of files that were downloaded before")
    arguments.add_argument("--texts-only", action="store_true", help="make no vectors")
    options = arguments.parse_args()
    for name in options.corpora.split(","):
        if name not in CORPORA:
            raise InputError(f"There is no corpus {name!r} to fetch; there are {', '.join(CORPORA)}.")
        folder = options.data / name
        if any(folder.glob("*.npy")) and not any(folder.glob("*.jsonl")):
            print(f"{name}: there are vectors already")
            continue
        if not any(folder.glob("*.jsonl")):
            fetch(name, folder, options.mirror)
        if not options.texts_only:
            embed(folder)


def fetch(name: str, folder: Path, mirror: Path | None) -> None:
    """Write the texts of a corpus."""
    folder.mkdir(parents=True, exist_ok=True)
    if name in ("scifact", "nfcorpus"):
        with zipfile.ZipFile(downloaded(f"{BEIR}{name}.zip", folder, mirror)) as archive:
            archive.extractall(folder.parent)  # its files stand in a folder of its name
    elif name in ("papers", "movies"):
        read, listed = (papers, "papers.txt") if name == "papers" else (movies, "movies.tsv")
        wanted = (BENCH / "corpora" / listed).read_text(encoding="utf-8").splitlines()
        found = read(folder, mirror)
        places = {each: anthology_id(each) if name == "papers" else each for each in wanted}
        kept = [found[place] | {"_id": each} for each, place in places.items() if place in found]
        write_lines(folder / "corpus.jsonl", kept)
        print(f"{name}: {len(kept):,} of {len(wanted):,} texts", file=sys.stderr)
    else:
        with gzip.open(downloaded(MTEB.format(name), folder, mirror), "rt", encoding="utf-8") as lines:
            sets = [json.loads(line) for line in lines]
        texts = [each for one in sets for each in zip(one["sentences"], one["labels"], strict=True)]
        drawn = np.random.default_rng(0).choice(len(texts), min(DRAWN, len(texts)), replace=False)
        write_lines(folder / "test.jsonl", [{"sentences": texts[row][0], "labels": texts[row][1]} for row in drawn])


def papers(folder: Path, mirror: Path | None) -> Texts:
    """The title and abstract of everything that the Anthology has, by its id."""
    found = {}
    with gzip.open(downloaded(ANTHOLOGY, folder, mirror), "rt", encoding="utf-8") as text:
        for entry in text.read().split("\n@"):
            fields = dict(re.findall(r'^\s+(title|abstract|url) = ["{](.*?)["}],?$', entry, re.M))
            if len(fields) == 3:
                title, abstract = (re.sub(r"[{}\\]", "", fields[name]) for name in ("title", "abstract"))
                found[fields["url"].rstrip("/").rsplit("/", 1)[1]] = {"title": title, "text": abstract}
    return found


def anthology_id(name: str) -> str:
    """2020.lrec-1.152 of 2020.lrec.1.152, and W19-3810 of W19-38-10."""
    if name[0].isdigit():
        return re.sub(r"\.(\w+\.\d+)$", r"-\1", name)
    event, volume, number = name.split("-")
    return f"{event}-{volume}{number.zfill(4 - len(volume))}"


def movies(folder: Path, mirror: Path | None) -> Texts:
    """The lead paragraph of every film that has one, by its title and year; it names the film."""
    found = {}
    for decade in DECADES:
        for film in json.loads(downloaded(FILMS.format(decade), folder, mirror).read_text(encoding="utf-8")):
            if film.get("extract"):
                found[f"{film['title']}\t{film['year']}"] = {"title": "", "text": film["extract"]}
    return found


def downloaded(url: str, folder: Path, mirror: Path | None) -> Path:
    """The file of a URL: in the mirror, or in the folder of the corpus, where it is kept."""
    name = url.rsplit("/", 1)[1]
    if mirror is not None and (mirror / folder.name / name).exists():
        return mirror / folder.name / name
    file = folder / f".{name}"
    if not file.exists():
        try:
            with urllib.request.urlopen(url, timeout=60) as answer, written_whole(file) as temporary:
                temporary.write_bytes(answer.read())
        except OSError as error:
            raise VeclinkError(f"{url} was not fetched ({error}); fetch it by other means into a --mirror.") from error
    return file


def embed(folder: Path) -> None:
    """Make the vectors of a corpus that are missing: by every model, and of its queries too."""
    texts = read_corpus(folder)
    for model, (encoder, before_text, before_query) in MODELS.items():
        for file, before, wanted in (
            (folder / f"{model}.npy", before_text, texts.texts),
            (folder / f"queries.{model}.npy", before_query, list(texts.queries.values())),
        ):
            if wanted and not file.exists():
                encode_corpus(folder, encoder, file, [before + each for each in wanted])


def write_lines(file: Path, rows: list[dict[str, str]]) -> None:
    """Write a file of JSON lines."""
    with written_whole(file) as temporary:
        temporary.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), encoding="utf-8")
