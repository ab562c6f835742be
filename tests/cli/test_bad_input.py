"""Bad input: one sentence that says what is wrong, with the numbers. `sentences.json` beside this holds all of them.

PYTHONPATH=src:tests python tests/cli/test_bad_input.py    write them again, when a sentence is meant to change
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import veclink
from cli.test_app import run
from veclink.data.collection import Collection
from veclink.data.links import Links
from veclink.data.pairs import read_pairs, resolve_pairs
from veclink.data.summary import Summary
from veclink.errors import InputError, MissingExtra, VeclinkError, needed
from veclink.geometry.clouds import prepare
from veclink.linkers.anchors import anchors_from_vectors
from veclink.stores.files import read_ids
from veclink.stores.opening import open_collection

SENTENCES = Path(__file__).with_name("sentences.json")
ENDINGS = (".npy", ".npz", ".parquet", ".safetensors", ".jsonl")


def vectors(n: int = 40, d: int = 8, dtype: str = "float32") -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, d)).astype(dtype)


def broken(value: float, rows: Any = (3, 17), n: int = 40) -> np.ndarray:
    array = vectors(n)
    array[rows if isinstance(rows, slice) else list(rows)] = value
    return array


def prepared(array: np.ndarray, **more: Any) -> Callable[[Path], object]:
    return lambda folder: prepare(Collection.from_array(array), **more)


def saved(array: np.ndarray, ids: int | None = None) -> Callable[[Path], object]:
    """An array that is opened from a file and made ready."""

    def attempt(folder: Path) -> object:
        np.save(folder / "A.npy", array)
        if ids is not None:
            (folder / "A.ids.txt").write_text("".join(f"id{row}\n" for row in range(ids)))
        return prepare(open_collection(folder / "A.npy"), side="B")

    return attempt


def read(name: str, content: str | None, by: Callable[[Path], object] = open_collection) -> Callable[[Path], object]:
    """A file with this content, or that is not there."""

    def attempt(folder: Path) -> object:
        if content is not None:
            (folder / name).write_text(content, encoding="latin-1")
        return by(folder / name)

    return attempt


def table(columns: dict[str, list], by: Callable[[Path], object] = open_collection) -> Callable[[Path], object]:
    def attempt(folder: Path) -> object:
        pq.write_table(pa.table(columns), folder / "A.parquet")
        return by(folder / "A.parquet")

    return attempt


def lines(text: str) -> Callable[[Path], object]:
    return read("A.jsonl", '{"id": 0, "vector": [0.5, 2]}\n' + text)


PLAIN = Collection.from_array(vectors())
NAMED = Collection.from_array(vectors(), ids=[f"id{i}" for i in range(40)])
NUMBERED = Collection.from_array(vectors(), ids=np.arange(100, 140))


def seeds(pairs: object, a: Collection = PLAIN, b: Collection = PLAIN) -> Callable[[Path], object]:
    return lambda folder: resolve_pairs(pairs, a, b)


def anchors(left: np.ndarray, right: np.ndarray) -> Callable[[Path], object]:
    return lambda folder: anchors_from_vectors(prepare(PLAIN), prepare(PLAIN), left, right)


def links(ask: Callable[[Links], object]) -> Callable[[Path], object]:
    return lambda folder: ask(Links(np.array([[1, 2]]), np.array([0.5]), Summary("geh", 40, 40, 1)))


def linked(**more: Any) -> Callable[[Path], object]:
    return lambda folder: veclink.link(np.eye(4, dtype=np.float32), np.eye(4, dtype=np.float32), **more)


def opened(name: str) -> Callable[[Path], object]:
    return lambda folder: open_collection(name)


CASES: dict[str, Callable[[Path], object]] = {
    "NaN": saved(broken(np.nan)),
    "infinity": saved(broken(-np.inf)),
    "many NaN": prepared(broken(np.nan, slice(1, None, 2), 90_000)),  # several steps of the pass
    "masked numbers": prepared(np.ma.masked_less(broken(-9), -8)),
    "zero vectors": prepared(broken(0, (5, 9, 11, 12, 13, 39))),
    "too few rows but zeros": prepared(broken(0, (0, 1), 4), skip_zero=True),
    "one direction": prepared(np.tile(vectors(1), (40, 1))),
    "fewer ids": saved(vectors(), ids=39),
    "more ids": lambda folder: open_collection(vectors(), ids=[f"id{i}" for i in range(41)]),
    "ids that come twice": lambda folder: Collection.from_array(vectors(40), ids=np.arange(40) % 20),
    "empty ids in a CSV": read("ids.csv", "id,title\nx,1\n,2\ny,3\n,4\n", read_ids),
    "empty id in a text": read("ids.txt", "x\n\ny\n", read_ids),
    "one dimension": saved(np.ones(40, np.float32)),
    "three dimensions": saved(np.ones((4, 5, 2), np.float32)),
    "no rows": saved(np.ones((0, 8), np.float32)),
    "two rows": saved(np.ones((2, 8), np.float32)),
    "one number each": saved(np.ones((40, 1), np.float32)),
    "no numbers": saved(np.ones((40, 0), np.float32)),
    **{kind: saved(np.ones((40, 8)).astype(kind)) for kind in ("int16", "uint8", "bool", "complex64", "U3")},
    "rows that are not there": seeds([(0, 0), (40, 1), (-1, 2)]),
    "too large for a row": seeds([(0, 2**70)]),
    "unknown ids": seeds([("id0", "x"), ("id1", "y")], NAMED, NAMED),
    "unknown numbers": seeds([(99, 0)], NUMBERED),
    "text for a number": seeds([("id0", 0)], NUMBERED),
    "text for a row": seeds([("id0", 0)]),
    "half a row": seeds([(0.5, 0)]),
    "a pair twice": seeds([("id1", 101), ("id1", 101)], NAMED, NUMBERED),
    "two partners": seeds([(0, 0), (0, 1)]),
    "two partners in A": seeds([("id0", 5), ("id1", 5)], NAMED),
    "no pairs": seeds([]),
    "three values": seeds([(0, 1, 2)]),
    "numbers for pairs": seeds([0, 1]),
    "sides of other lengths": seeds((np.arange(3), np.arange(4))),
    "many wrong rows": seeds(np.column_stack([np.arange(100), np.zeros(100, int)])),
    "other columns": read("seeds.csv", "left,right\n1,2\n", read_pairs),
    "an empty file of pairs": read("seeds.csv", "", read_pairs),
    "gaps": read("seeds.csv", "a,b\n1,2\n3\n,4\n", read_pairs),
    "gaps in Parquet": table({"a": [1, None, 3], "b": [1, 2, None]}, read_pairs),
    "no text": read("seeds.csv", "a,b\n\xff", read_pairs),
    "no file of pairs": read("seeds.txt", "1 2", read_pairs),
    "missing seeds": read("seeds.csv", None, read_pairs),
    "other counts of anchors": anchors(vectors(3), vectors(4)),
    "no anchors": anchors(vectors(0), vectors(0)),
    "anchors of another width": anchors(vectors(3, 5), vectors(3)),
    "anchors of zero": anchors(vectors(3), np.zeros((3, 8))),
    "anchors of NaN": anchors(vectors(3) * np.nan, vectors(3)),
    "an unknown store": opened("gs://me:secret@bucket/A.npy"),
    "another machine": opened("file://host/A.npy"),
    "an unknown ending": opened("A.bin"),
    "no name": opened(""),
    "a name too long": opened("x" * 10_000 + ".npy"),
    "an empty folder": open_collection,
    "not a file": read("A.npy", None, lambda path: (path.mkdir(), open_collection(path))),
    **{f"missing {ending}": read(f"A{ending}", None) for ending in ENDINGS},
    "no vectors": table({"x": [1.0, 2.0]}),
    "two fields of vectors": table({"x": [[1.0], [2.0]], "y": [[1.0], [2.0]]}),
    "numbers for vectors": table({"vector": [1.0, 2.0]}),
    "vectors of other lengths": table({"vector": [[1.0, 2.0], [1.0]]}),
    "a row without a vector": table({"vector": [[1.0, 2.0], None]}),
    "missing numbers": table({"vector": [[1.0, None], [1.0, 2.0]]}),
    "texts in vectors": table({"vector": [["a", "b"], ["c", "d"]]}),
    "no id": table({"vector": [[1.0, 2.0], [3.0, 4.0]], "id": ["x", None]}),
    "ids of the wrong kind": table({"vector": [[1.0, 2.0], [3.0, 4.0]], "id": [1.5, 2.0]}),
    "no JSON": lines("{'vector': 1}"),
    "no object": lines("[1, 2]"),
    "other lengths in JSON": lines('{"id": 1, "vector": [1, 2, 3]}'),
    "another field": lines('{"id": 1, "embedding": [1, 2]}'),
    "null in a vector": lines('{"id": 1, "vector": [1, null]}'),
    "no number that fits": lines('{"id": 1, "vector": [1, 1' + "0" * 400 + "]}"),
    "a line without id": lines('{"vector": [1, 2]}'),
    "little memory": linked(memory="999KB"),
    "no random state": linked(random_state=1.5),
    "no file of links": lambda folder: Links.load(5),
    "no precision": links(lambda held: held.at(precision="high")),
    "no wish": links(lambda held: held.at(precision=None)),
    "no such link": links(lambda held: held.explain("first")),
    "a missing package": lambda folder: needed("not_there.at_all", "A store", install="veclink[store]"),
}


def told(attempt: Callable[[Path], object], folder: Path) -> str:
    """The sentence with which an attempt is refused; without the folder, which is another one each time."""
    with pytest.raises(VeclinkError) as refused:
        attempt(folder)
    assert isinstance(refused.value, (InputError, MissingExtra))
    return str(refused.value).replace(str(folder), "FOLDER")


@pytest.mark.parametrize("name", [pytest.param(each, id=each.replace(".", "")) for each in CASES])
def test_what_cannot_be_used_is_refused_in_its_sentence(name: str, tmp_path: Path) -> None:
    assert told(CASES[name], tmp_path) == json.loads(SENTENCES.read_text(encoding="utf-8"))[name]


def test_the_golden_sentences_are_short_and_show_no_vectors_and_no_passwords() -> None:
    kept = json.loads(SENTENCES.read_text(encoding="utf-8"))
    assert kept.keys() == CASES.keys()
    assert not any("secret" in each or "\n" in each or len(each) > 500 for each in kept.values())
    assert not any(str(number)[:7] in each for number in vectors()[0] for each in kept.values())


def test_a_row_scaled_by_zero_is_a_zero_vector() -> None:
    scale = np.ones((40, 1))
    scale[7] = 0
    with pytest.raises(InputError, match="in row 7;"):
        prepare(Collection.from_array((vectors() * 30).astype(np.int8), scale=scale))


@pytest.mark.parametrize("name", ["", ".", "/"])
def test_a_name_that_names_nothing_is_told_in_a_sentence(name: str) -> None:
    code, out, err = run("inspect", name)
    assert (code, out) == (1, "") and err.count("\n") == 1


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_an_empty_id_is_evaluated_like_any_other_and_as_a_seed_it_is_refused(tmp_path: Path, ending: str) -> None:
    held, truth = tmp_path / f"links{ending}", tmp_path / "truth.csv"
    if ending == ".csv":
        held.write_text("a,b\nx,1\n,2\ny,3\n")
    else:
        pq.write_table(pa.table({"a": ["x", "", "y"], "b": ["1", "2", "3"]}), held)
    truth.write_text("a,b\nx,1\n,2\n")
    code, out, _ = run("eval", held, "--truth", truth, "--json")
    assert code == 0 and (json.loads(out)["right"], json.loads(out)["found"], json.loads(out)["true"]) == (2, 3, 2)
    with pytest.raises(InputError):
        read_pairs(held)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("content", [b"", b"nonsense", b"\x93NUMPY\x01", b"PK\x03\x04", b"PAR1", b"\xff" * 64, b"{}"])
def test_a_file_that_is_not_what_its_ending_says(tmp_path: Path, ending: str, content: bytes) -> None:
    (tmp_path / f"A{ending}").write_bytes(content)
    with pytest.raises(InputError, match=rf"A{ending}"):
        open_collection(tmp_path / f"A{ending}")


def write(path: Path) -> None:
    """Sound vectors in a file of the kind that its ending says."""
    if path.suffix == ".safetensors":
        from safetensors.numpy import save_file

        save_file({"vectors": vectors()}, path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(f'{{"vector": {row}}}\n' for row in vectors().tolist()))
    elif path.suffix == ".parquet":
        pq.write_table(pa.table({"vector": vectors().tolist()}), path)
    else:
        np.save(path, vectors()) if path.suffix == ".npy" else np.savez(path, vectors=vectors())


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_that_was_cut_off(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"A{ending}"
    write(path)
    assert open_collection(path).vectors.shape == (40, 8)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match=rf"A{ending}"):
        open_collection(path)


@pytest.mark.parametrize(
    "arguments",
    [
        "link A.npy B.npy -o postgresql://me:SECRET@host/db?table=t",
        "link A.npy B.npy --seeds postgresql://me:SECRET@host/db -o links.csv",
        "eval postgresql:/me:SECRET@host/db --truth truth.csv",
        "merge A.npy B.npy --links me:SECRET@host/db -o m.parquet",
    ],
)
def test_an_address_given_where_a_file_is_wanted_is_told_without_its_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("A", "B"):
        np.save(f"{name}.npy", vectors())
    code, out, err = run(*arguments.split())
    assert code in (1, 2) and "host" in err and "SECRET" not in err + out


def main() -> None:
    """Write the sentences again."""
    kept = {}
    for name, attempt in CASES.items():
        with TemporaryDirectory() as folder:
            kept[name] = told(attempt, Path(folder))
    SENTENCES.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
