"""Bad input: one sentence that says what is wrong, with the numbers, and nothing written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

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


def vectors(n: int = 40, d: int = 8, dtype: str = "float32") -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, d)).astype(dtype)


def opened(path: Path, array: np.ndarray) -> Collection:
    np.save(path / "A.npy", array)
    return open_collection(path / "A.npy")


# --- the vectors


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_are_named_by_row(tmp_path: Path, dtype: str, value: float) -> None:
    array = vectors(dtype=dtype)
    array[[3, 17], [0, 7]] = value
    with pytest.raises(InputError, match=r"^B \(.*A\.npy\) cannot be used: NaN or infinite numbers in row 3, 17;"):
        prepare(opened(tmp_path, array), side="B")


def test_of_many_broken_rows_five_are_named_and_all_counted() -> None:
    array = vectors(n=90_000)  # several steps of the pass
    array[1::2, 3] = np.nan
    with pytest.raises(InputError, match=r"in row 1, 3, 5, 7, 9 and 44,995 more \(45,000 in all\);"):
        prepare(Collection.from_array(array))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8"])
def test_zero_vectors_are_named_by_row_with_the_way_out(dtype: str) -> None:
    array = (vectors() * 30).astype(dtype)
    array[[5, 9, 11, 12, 13, 39]] = 0
    with pytest.raises(
        InputError, match=r"in row 5, 9, 11, 12, 13 and 1 more \(6 in all\); .* skip_zero \(--skip-zero\)"
    ):
        prepare(Collection.from_array(array))
    assert len(prepare(Collection.from_array(array), skip_zero=True)) == 34


def test_a_row_scaled_by_zero_is_a_zero_vector() -> None:
    scale = np.ones((40, 1))
    scale[7] = 0
    with pytest.raises(InputError, match="zero vectors, which have no direction, in row 7;"):
        prepare(Collection.from_array((vectors() * 30).astype(np.int8), scale=scale))


@pytest.mark.parametrize("count", [39, 41])
def test_other_row_counts_than_ids(tmp_path: Path, count: int) -> None:
    ids = [f"id{i}" for i in range(count)]
    (tmp_path / "A.ids.txt").write_text("\n".join(ids) + "\n")
    with pytest.raises(InputError, match=rf"A\.npy has 40 rows but {count} ids"):
        opened(tmp_path, vectors())
    with pytest.raises(InputError, match=rf"array has 40 rows but {count} ids"):
        open_collection(vectors(), ids=ids)


@pytest.mark.parametrize(
    ("name", "content", "lines"),
    [
        ("ids.csv", "id,title\nx,1\n,2\ny,3\n,4\n", "3, 5"),
        ("ids.csv", 'id,title\n"","two\nlines"\n', "3"),
        ("ids.txt", "x\n\ny\n", "2"),
    ],
)
def test_empty_ids_are_named_by_their_line(tmp_path: Path, name: str, content: str, lines: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=rf"{name} has an empty id in line {lines}; give every row an id"):
        read_ids(tmp_path / name)


def test_ids_that_are_not_unique() -> None:
    with pytest.raises(InputError, match="more than one row: 'x', 'y';"):
        Collection.from_array(vectors(5), ids=["x", "y", "x", "y", "z"])
    with pytest.raises(InputError, match=r"more than one row: 0, 1, 2, 3, 4 and 15 more \(20 in all\);"):
        Collection.from_array(vectors(40), ids=np.arange(40) % 20)


@pytest.mark.parametrize("shape", [(40,), (4, 5, 2), ()])
def test_one_dimensional_and_other_shapes(tmp_path: Path, shape: tuple[int, ...]) -> None:
    with pytest.raises(
        InputError, match=rf"A\.npy has the shape \({', '.join(map(str, shape))},?\); .* two-dimensional"
    ):
        opened(tmp_path, np.ones(shape, np.float32))


def test_rows_of_different_lengths() -> None:
    with pytest.raises(InputError, match="cannot be read as one array"):
        open_collection([[1.0, 2.0], [1.0]])


@pytest.mark.parametrize(
    ("shape", "sentence"),
    [
        ((0, 8), r"A \(.*\) has 0 usable rows; linking needs at least 3, and links are judged from 30 rows on"),
        ((1, 8), r"A \(.*\) has 1 usable row; linking needs at least 3"),
        ((2, 8), r"A \(.*\) has 2 usable rows; linking needs at least 3"),
        ((40, 1), r"A \(.*\) has vectors of 1 number; directions need at least 2"),
        ((40, 0), r"has 40 rows of 0 numbers"),
    ],
)
def test_empty_and_too_small_input(tmp_path: Path, shape: tuple[int, int], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        prepare(opened(tmp_path, np.ones(shape, np.float32)))


def test_too_few_rows_after_zero_vectors_are_skipped() -> None:
    array = vectors(4)
    array[[0, 1]] = 0
    with pytest.raises(InputError, match="has 2 usable rows"):
        prepare(Collection.from_array(array), skip_zero=True)


def test_vectors_that_are_all_the_same_cannot_be_centred() -> None:
    with pytest.raises(InputError, match=r"All 40 vectors of A \(array\) point the same way"):
        prepare(Collection.from_array(np.tile(vectors(1), (40, 1))))
    assert len(prepare(Collection.from_array(np.tile(vectors(1), (40, 1))), centre=False)) == 40


@pytest.mark.parametrize(
    "dtype", ["int16", "int32", "int64", "uint8", "uint32", "bool", "complex64", "longdouble", "U3"]
)
def test_dtypes_that_are_no_vectors(tmp_path: Path, dtype: str) -> None:
    array = np.ones((40, 8)).astype(dtype)
    with pytest.raises(InputError, match=rf"A\.npy holds {array.dtype} of shape \(40, 8\); vectors are float16"):
        opened(tmp_path, array)


def test_errors_never_show_vectors() -> None:
    array = vectors()
    array[0] = 0.123456
    array[1, 1] = np.nan
    for attempt in (
        lambda: prepare(Collection.from_array(array)),
        lambda: Collection.from_array(array.tolist(), ids=array.tolist()),
        lambda: resolve_pairs(array, Collection.from_array(array), Collection.from_array(array)),
    ):
        with pytest.raises(InputError) as caught:
            attempt()
        assert "0.1234" not in str(caught.value)


# --- seeds, truth and anchors

PLAIN = Collection.from_array(vectors())
NAMED = Collection.from_array(vectors(), ids=[f"id{i}" for i in range(40)])
NUMBERED = Collection.from_array(vectors(), ids=np.arange(100, 140))


@pytest.mark.parametrize(
    ("pairs", "a", "b", "sentence"),
    [
        (
            [(0, 0), (40, 1), (-1, 2)],
            PLAIN,
            PLAIN,
            "The seeds name rows that A does not have, as it has 40: 40, -1; rows count",
        ),
        ([(0, 40)], PLAIN, PLAIN, "rows that B does not have, as it has 40: 40;"),
        ([(0, 2**70)], PLAIN, PLAIN, f"in B that are not row numbers, as it has no ids: {2**70};"),
        ([("id0", "x"), ("id1", "y")], NAMED, NAMED, "ids that B does not have among its 40: 'x', 'y';"),
        ([(99, 0)], NUMBERED, PLAIN, "ids that A does not have among its 40: 99;"),
        ([("id0", 0)], NUMBERED, PLAIN, "in A that are not integer ids: 'id0';"),
        ([("id0", 0)], PLAIN, PLAIN, "in A that are not row numbers, as it has no ids: 'id0';"),
        ([(0.5, 0)], PLAIN, PLAIN, "in A that are not row numbers, as it has no ids: 0.5;"),
        ([(None, 0)], PLAIN, PLAIN, "in A that are not row numbers, as it has no ids: None;"),
        ([(0, 0), (1, 1), (0, 0)], PLAIN, PLAIN, r"give pairs more than once: \(0, 0\); keep each pair once"),
        ([("id1", 101), ("id1", 101)], NAMED, NUMBERED, r"give pairs more than once: \('id1', 101\);"),
        ([(0, 0), (0, 1)], PLAIN, PLAIN, "contradict themselves, with more than one partner in B for 0 of A;"),
        ([("id0", 5), ("id1", 5)], NAMED, PLAIN, "contradict themselves, with more than one partner in A for 5 of B;"),
        ([], PLAIN, PLAIN, "The seeds hold 0 pairs"),
        (np.empty((0, 2)), PLAIN, PLAIN, "The seeds hold 0 pairs"),
        ([(0, 1, 2)], PLAIN, PLAIN, "something of 3 values where a pair has 2"),
        ([0, 1], PLAIN, PLAIN, "The seeds are not pairs"),
        (3, PLAIN, PLAIN, "The seeds are not pairs"),
        ((np.arange(3), np.arange(4)), PLAIN, PLAIN, "have 3 values for A and 4 for B"),
    ],
)
def test_seeds_that_cannot_be_right(pairs: object, a: Collection, b: Collection, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        resolve_pairs(pairs, a, b)


def test_of_many_wrong_seeds_five_are_named_and_all_counted() -> None:
    with pytest.raises(InputError, match=r"The truth name.*: 40, 41, 42, 43, 44 and 55 more \(60 in all\);"):
        resolve_pairs(np.column_stack([np.arange(100), np.zeros(100, int)]), PLAIN, PLAIN, what="truth")


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("seeds.csv", "left,right\n1,2\n", "has the columns 'left', 'right'; pairs are in two columns called a and b"),
        ("seeds.csv", "", "has the columns none;"),
        ("seeds.csv", "a,b\n1,2\n3\n,4\n", "lacks a value for a or b in line 3, 4;"),
        ("seeds.csv", "a,b\n\xff", "cannot be read"),
        ("seeds.parquet", "nonsense", "cannot be read"),
        ("seeds.txt", "1 2", "does not end in .csv or .parquet"),
        ("seeds.csv", None, "cannot be read .No such file"),
    ],
)
def test_files_of_pairs_that_cannot_be_used(tmp_path: Path, name: str, content: str | None, sentence: str) -> None:
    if content is not None:
        (tmp_path / name).write_text(content, encoding="latin-1")
    with pytest.raises(InputError, match=sentence):
        read_pairs(tmp_path / name)


def test_a_parquet_file_of_pairs_with_gaps(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1, None, 3], "b": [1, 2, None]}), tmp_path / "seeds.parquet")
    with pytest.raises(InputError, match="lacks a value for a or b in row 1, 2;"):
        read_pairs(tmp_path / "seeds.parquet")


@pytest.mark.parametrize(
    ("left", "right", "sentence"),
    [
        (vectors(3), vectors(4), "There are 3 anchor vectors for A and 4 for B"),
        (vectors(0), vectors(0), "There are 0 anchor vectors"),
        (vectors(3, 5), vectors(3), "The anchors' A side has vectors of 5 numbers and array of 8"),
        (
            vectors(3),
            np.zeros((3, 8)),
            "The anchors' B side has zero vectors, which have no direction, in row 0, 1, 2;",
        ),
        (vectors(3) * np.nan, vectors(3), "A side cannot be used: NaN or infinite numbers in row 0, 1, 2;"),
        (vectors(3), np.ones((3, 8), np.int64), r"The anchors' B side holds int64 of shape \(3, 8\)"),
        (np.ones(8), np.ones(8), r"The anchors' A side has the shape \(8,\)"),
    ],
)
def test_anchor_vectors_that_cannot_be_used(left: np.ndarray, right: np.ndarray, sentence: str) -> None:
    cloud = prepare(PLAIN)
    with pytest.raises(InputError, match=sentence):
        anchors_from_vectors(cloud, cloud, left, right)


# --- where the vectors are


def test_an_unknown_url_says_what_is_known_and_no_password() -> None:
    with pytest.raises(InputError, match=r"^gs:// is not .* known are .*lancedb://.* and files") as caught:
        open_collection("gs://me:secret@bucket/A.npy")
    assert "secret" not in str(caught.value)


def test_a_file_url_of_another_machine_is_refused() -> None:
    with pytest.raises(InputError, match="for 'host'; it names files of this machine"):
        open_collection("file://host/A.npy")


@pytest.mark.parametrize("name", ["A.csv", "A", "A.bin"])
def test_an_unknown_ending_says_what_is_known(name: str) -> None:
    with pytest.raises(InputError, match=rf"{name} is not a kind of file that is known; known are \.npy, .*\.jsonl"):
        open_collection(name)


@pytest.mark.parametrize("name", ["x" * 10_000, "x" * 10_000 + ".npy", "folder"])
def test_a_name_that_no_file_can_have_and_an_empty_folder_are_told(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match=r"x… cannot be opened|is a folder, and no collection"):
        open_collection(name if len(name) > 300 else tmp_path / name)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [("", "name of a collection is empty"), (" ", "is empty"), (".", "a folder"), ("/", "a folder")],
)
def test_a_name_that_names_nothing_is_told_in_a_sentence(name: str, sentence: str) -> None:
    code, out, err = run("inspect", name)
    assert (code, out) == (1, "") and sentence in err and err.count("\n") == 1


def test_a_folder_of_parquet_files_may_be_where_one_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({"id": ["x", "y", "z"], "vector": vectors(3).tolist()})
    pq.write_table(table, tmp_path / "part-0.parquet")
    monkeypatch.chdir(tmp_path)
    assert len(open_collection(".")) == 3


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_an_empty_id_is_evaluated_like_any_other_and_as_a_seed_it_is_refused(tmp_path: Path, ending: str) -> None:
    links, truth = tmp_path / f"links{ending}", tmp_path / "truth.csv"
    columns = {"a": ["x", "", "y"], "b": ["1", "2", "3"]}
    if ending == ".csv":
        links.write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in zip(*columns.values(), strict=True)))
    else:
        pq.write_table(pa.table(columns), links)
    truth.write_text("a,b\nx,1\n,2\n")
    code, out, _ = run("eval", links, "--truth", truth, "--json")
    assert code == 0 and (json.loads(out)["right"], json.loads(out)["found"], json.loads(out)["true"]) == (2, 3, 2)
    with pytest.raises(InputError, match="lacks a value for a or b"):
        read_pairs(links)


ENDINGS = [".npy", ".npz", ".parquet", ".safetensors", ".jsonl"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_that_is_not_there_or_a_folder(tmp_path: Path, ending: str) -> None:
    with pytest.raises(InputError, match=rf"A{ending} does not exist"):
        open_collection(tmp_path / f"A{ending}")
    (tmp_path / f"A{ending}").mkdir()
    with pytest.raises(InputError, match=rf"A{ending} is not a file"):
        open_collection(tmp_path / f"A{ending}")


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("content", [b"", b"nonsense", b"\x93NUMPY\x01", b"PK\x03\x04", b"PAR1", b"\xff" * 64, b"{}"])
def test_a_file_that_is_not_what_its_ending_says(tmp_path: Path, ending: str, content: bytes) -> None:
    (tmp_path / f"A{ending}").write_bytes(content)
    with pytest.raises(InputError, match=rf"A{ending}"):
        open_collection(tmp_path / f"A{ending}")


def write_npy(path: Path) -> None:
    np.save(path, vectors())


def write_npz(path: Path) -> None:
    np.savez(path, vectors=vectors())


def write_parquet(path: Path) -> None:
    pq.write_table(pa.table({"vector": vectors().tolist()}), path)


def write_safetensors(path: Path) -> None:
    from safetensors.numpy import save_file

    save_file({"vectors": vectors()}, path)


def write_jsonl(path: Path) -> None:
    path.write_text("".join(f'{{"vector": {row}}}\n' for row in vectors().tolist()))


WRITERS = dict(zip(ENDINGS, [write_npy, write_npz, write_parquet, write_safetensors, write_jsonl], strict=True))


@pytest.mark.parametrize(("ending", "write"), WRITERS.items())
def test_a_file_that_was_cut_off(tmp_path: Path, ending: str, write: Callable[[Path], None]) -> None:
    path = tmp_path / f"A{ending}"
    write(path)
    assert open_collection(path).vectors.shape == (40, 8)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match=rf"A{ending}"):
        open_collection(path)


@pytest.fixture
def without_privilege(tmp_path: Path, ending: str) -> Iterator[Path]:
    """A folder whose file cannot be read, for root too, who gives up the right for a while."""
    folder = tmp_path / "closed"
    folder.mkdir()
    WRITERS[ending](folder / f"A{ending}")
    folder.chmod(0)
    as_root = os.geteuid() == 0
    if as_root:
        os.seteuid(65534)
    try:
        yield folder
    finally:
        if as_root:
            os.seteuid(0)
        folder.chmod(0o700)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_that_may_not_be_read(without_privilege: Path, ending: str) -> None:
    with pytest.raises(InputError, match=rf"A{ending} cannot be read .*Permission denied"):
        open_collection(without_privilege / f"A{ending}")


def test_pickled_objects_are_never_loaded(tmp_path: Path) -> None:
    np.save(tmp_path / "A.npy", np.array([[object()]]), allow_pickle=True)
    np.savez(tmp_path / "A.npz", vectors=np.array([[object()]]))
    for name in ("A.npy", "A.npz"):
        with pytest.raises(InputError, match=rf"{name} cannot be read"):
            open_collection(tmp_path / name)


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"x": [1.0, 2.0]}, "holds no vectors: its fields are 'x', and none is a list of numbers; is it the right"),
        ({"x": [[1.0], [2.0]], "y": [[1.0], [2.0]]}, "2 fields that could be the vectors among 'x', 'y'"),
        ({"vector": [1.0, 2.0]}, "has double in `vector`; vectors are lists"),
        ({"vector": [[1.0, 2.0], [1.0]]}, "vectors of 2 numbers, but of 1 in row 1;"),
        ({"vector": [[1.0, 2.0], None]}, "no vector in row 1;"),
        ({"vector": [[1.0, None], [1.0, 2.0]]}, "missing numbers in the vectors of row 0;"),
        ({"vector": [["a", "b"], ["c", "d"]]}, r"holds object of shape \(2, 2\)"),
        ({"vector": [[1.0, 2.0], [3.0, 4.0]], "id": ["x", None]}, "neither integers nor strings .NoneType. in row 1;"),
        ({"vector": [[1.0, 2.0], [3.0, 4.0]], "id": [1.5, 2.0]}, "neither integers nor strings .float. in row 0, 1;"),
    ],
)
def test_parquet_columns_that_cannot_be_used(tmp_path: Path, columns: dict[str, list], sentence: str) -> None:
    pq.write_table(pa.table(columns), tmp_path / "A.parquet")
    with pytest.raises(InputError, match=sentence):
        open_collection(tmp_path / "A.parquet")


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (["{'vector': 1}"], "not JSON in line 2"),
        (["[1, 2]"], "no JSON object in line 2"),
        (['{"id": 1, "vector": [1, 2, 3]}'], "3 numbers in line 2 and 2 in the first"),
        (['{"id": 1, "embedding": [1, 2]}'], "no list of numbers in `vector` of line 2"),
        (['{"id": 1, "vector": [1, null]}'], "no list of numbers in `vector` of line 2"),
        (['{"id": 1, "vector": [1, "x"]}'], "no list of numbers in `vector` of line 2"),
        (['{"id": 1, "vector": [[1], [2, 3]]}'], "no list of numbers in `vector` of line 2"),
        (['{"id": 1, "vector": [1, 1' + "0" * 400 + "]}"], "no list of numbers in `vector` of line 2"),
        (['{"vector": [1, 2]}'], "no `id` in line 2"),
        (['{"id": 0, "vector": [1, 2]}'], "more than one row: 0;"),
    ],
)
def test_json_lines_that_cannot_be_used(tmp_path: Path, lines: list[str], sentence: str) -> None:
    (tmp_path / "A.jsonl").write_text("\n".join(['{"id": 0, "vector": [0.5, 2]}', *lines]))
    with pytest.raises(InputError, match=rf"A\.jsonl .*{sentence}"):
        open_collection(tmp_path / "A.jsonl")


# --- packages that are not there


def test_a_missing_package_is_named_with_what_wants_it() -> None:
    with pytest.raises(
        MissingExtra, match=r'A store needs the package not_there, .*: pip install "veclink\[store\]"'
    ) as caught:
        needed("not_there.at_all", "A store", install="veclink[store]")
    assert isinstance(caught.value, (ImportError, VeclinkError))


def test_two_vectors_repeated_on_both_sides_are_not_linkable_and_do_no_harm() -> None:
    rng = np.random.default_rng(0)
    a, b = (np.repeat(rng.standard_normal((2, d)).astype(np.float32), 60, axis=0) for d in (16, 24))
    assert veclink.link(a, b, device="cpu").summary.verdict == "not linkable"


@pytest.mark.parametrize("memory", ["1B", "999KB", 5, 0])
def test_memory_in_which_nothing_fits_is_refused_with_the_least_that_works(memory: object) -> None:
    with pytest.raises(InputError, match="leaves nothing to work with; give at least 1MB"):
        veclink.link(np.eye(4, dtype=np.float32), np.eye(4, dtype=np.float32), memory=memory)


@pytest.mark.parametrize(
    ("attempt", "sentence"),
    [
        (lambda links: Links.load(5), "Links are loaded from a file, and int names none; give its path"),
        (lambda links: Links.load(None), "Links are loaded from a file, and NoneType names none"),
        (lambda links: links.at(precision="high"), "The wanted precision is 'high'; it is more than 0"),
        (lambda links: links.at(precision=None), "Give one of precision, probability and links"),
        (lambda links: links.explain("first"), "There is no link 'first'; there are 1, counted from 0"),
        (lambda links: links.explain(0.0), r"There is no link 0\.0; there are 1"),
    ],
)
def test_links_asked_for_something_of_the_wrong_kind(attempt: Callable[[Links], object], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        attempt(Links(np.array([[1, 2]]), np.array([0.5]), Summary("geh", 40, 40, 1)))


@pytest.mark.parametrize("state", [-1, 1.5, "x"])
def test_a_random_state_that_is_no_whole_number_is_refused(state: object) -> None:
    with pytest.raises(InputError, match="whole number from 0"):
        veclink.link(np.eye(4, dtype=np.float32), np.eye(4, dtype=np.float32), random_state=state)


@pytest.mark.parametrize(
    "arguments",
    [["link", "A.npy", "B.npy", "-o", "postgresql://me:SECRET@host/db?table=t"],
     ["link", "A.npy", "B.npy", "--seeds", "postgresql://me:SECRET@host/db", "-o", "links.csv"],
     ["eval", "postgresql:/me:SECRET@host/db", "--truth", "truth.csv"],
     ["merge", "A.npy", "B.npy", "--links", "me:SECRET@host/db", "-o", "m.parquet"]],
)  # fmt: skip
def test_an_address_given_where_a_file_is_wanted_is_told_without_its_password(
    tmp_path: Path, arguments: list[str]
) -> None:
    for name in ("A", "B"):
        np.save(tmp_path / f"{name}.npy", vectors())
    ended = subprocess.run([sys.executable, "-m", "veclink", *arguments], cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode in (1, 2) and "host" in ended.stderr and "SECRET" not in ended.stderr + ended.stdout
