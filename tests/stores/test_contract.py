"""What every store has to do, each with its real engine: give back what was written, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from store_kinds import KINDS, STREAMED, Kind, ids_of, payload_of, rows_of
from veclink.errors import InputError
from veclink.stores import open_store
from veclink.stores.opening import open_collection
from veclink.stores.protocol import Batch


def each(kinds: list[Kind]) -> Any:
    return pytest.mark.parametrize("kind", kinds, ids=[kind.name for kind in kinds])


def written(url: str, vectors: np.ndarray, ids: np.ndarray | None, payload: Any = None, size: int = 40) -> str:
    """The URL, after these rows were written there in batches of `size`."""
    with open_store(url, write=True) as store:
        assert store.write(batches_of(vectors, ids, payload, size), metadata={"model": "minilm ü"}) == len(vectors)
    return url


def batches_of(vectors: np.ndarray, ids: np.ndarray | None, payload: Any = None, size: int = 40) -> Iterator[Batch]:
    for start in range(0, max(1, len(vectors)), size):
        rows = slice(start, start + size)
        part = None if payload is None else payload.slice(start, size)
        yield Batch(vectors[rows], None if ids is None else ids[rows], part)


@pytest.mark.parametrize(
    ("kind", "ids"),
    [(kind, ids) for kind in KINDS for ids in kind.ids],
    ids=lambda value: getattr(value, "name", value),
)
def test_what_is_written_comes_back(tmp_path: Path, kind: Kind, ids: str) -> None:
    vectors, names = rows_of(100), ids_of(ids, 100)
    payload = payload_of(100) if kind.payload else None
    url = written(kind.url(tmp_path, "papers"), vectors, names, payload)
    with open_store(url) as store:
        assert (store.count(), store.dimension(), store.dtype) == (100, 8, np.float32)
    read = open_collection(url)
    assert read.ids is not None and read.ids.tolist() == names.tolist()
    assert np.array_equal(read.vectors, vectors) and read.vectors.dtype == np.float32
    if payload is not None:
        assert read.payload is not None
        assert read.payload.select(payload.column_names).to_pydict() == payload.to_pydict()
        assert sorted(read.payload.column_names) == sorted(payload.column_names)


@each(STREAMED)
def test_linking_reads_no_payload(tmp_path: Path, kind: Kind) -> None:
    url = written(kind.url(tmp_path, "papers"), rows_of(9), ids_of("int", 9), payload_of(9) if kind.payload else None)
    read = open_collection(url, payload=False)
    assert read.payload is None and np.array_equal(read.vectors, rows_of(9))
    assert isinstance(read.vectors, np.memmap)


@each([kind for kind in KINDS if kind.name in ("lancedb", "qdrant", "chroma", "milvus", "postgres", "duckdb")])
def test_what_was_said_of_a_collection_is_kept(tmp_path: Path, kind: Kind) -> None:
    url = written(kind.url(tmp_path, "papers"), rows_of(3), ids_of("int", 3))
    with open_store(url) as store:
        assert store.metadata()["model"] == "minilm ü"


@each([kind for kind in KINDS if kind.empty])
def test_an_empty_collection_is_no_error(tmp_path: Path, kind: Kind) -> None:
    url = written(kind.url(tmp_path, "papers"), rows_of(0), ids_of("int", 0))
    with open_store(url) as store:
        assert store.count() == 0 and list(store.batches()) == []
    assert len(open_collection(url)) == 0


@each(KINDS)
def test_one_row_without_ids_comes_back(tmp_path: Path, kind: Kind) -> None:
    url = written(kind.url(tmp_path, "papers"), rows_of(1), None)
    read = open_collection(url)
    assert np.array_equal(read.vectors, rows_of(1)) and (read.ids is None or len(read.ids) == 1)


@pytest.mark.parametrize("dtype", ["float16", "int8"])
@each(KINDS)
def test_narrow_numbers_keep_their_values(tmp_path: Path, kind: Kind, dtype: str) -> None:
    vectors = rows_of(50, dtype=dtype)
    read = open_collection(written(kind.url(tmp_path, "papers"), vectors, ids_of(kind.ids[0], 50)))
    assert read.vectors.dtype == kind.numbers[dtype] and np.array_equal(read.vectors, vectors)


@each([kind for kind in KINDS if kind.payload])
def test_a_filter_reads_only_what_satisfies_it(tmp_path: Path, kind: Kind) -> None:
    vectors, ids, payload = rows_of(60), ids_of("int", 60), payload_of(60)
    url = written(kind.url(tmp_path, "papers"), vectors, ids, payload)
    url = url if "://" in url else f"file://{url}"
    base, mark, table = url.partition("#")
    start = f"{base}&" if "?" in base else f"{base}?"

    def rows(where: str) -> list[int]:
        read = open_collection(f"{start}{where}{mark}{table}")
        found = [] if read.ids is None else [ids.tolist().index(name) for name in read.ids.tolist()]
        assert np.array_equal(read.vectors, vectors[found])
        return found

    years, venues = payload["year"].to_pylist(), payload["venue"].to_pylist()
    assert rows("where=year>=2015") == [i for i in range(60) if years[i] >= 2015]
    assert rows("where=year<2003&where=venue=ACL") == [i for i in range(60) if years[i] < 2003 and venues[i] == "ACL"]
    assert rows("where=score=2.5") == [20]
    assert rows("where=venue=ACL' or 'x' is not '") == []
    with pytest.raises(InputError, match="two in one"):
        rows("where=venue=ACL' or '1'='1")


@each([kind for kind in KINDS if kind.named])
def test_one_of_several_vectors_is_chosen_by_its_name(tmp_path: Path, kind: Kind) -> None:
    assert kind.named is not None
    one, two = rows_of(20, 8), rows_of(20, 6, seed=1)
    url = kind.named(tmp_path, one, two)
    base, mark, table = url.partition("#")
    for name, vectors in (("one", one), ("two", two)):
        read = open_collection(f"{base}{'&' if '?' in base else '?'}vector={name}{mark}{table}")
        assert np.array_equal(read.vectors, vectors) and read.ids is not None and read.ids.tolist() == list(range(20))
    with pytest.raises(InputError, match="2 fields that could be the vectors"):
        open_collection(url)
    with pytest.raises(InputError, match="no vectors in 'three'"):
        open_collection(f"{base}{'&' if '?' in base else '?'}vector=three{mark}{table}")


@each(KINDS)
def test_what_is_there_is_not_overwritten_by_accident(tmp_path: Path, kind: Kind) -> None:
    url = written(kind.url(tmp_path, "papers"), rows_of(5), ids_of(kind.ids[0], 5))
    with open_store(url, write=True) as store, pytest.raises(InputError, match="is there already"):
        store.write([Batch(rows_of(7, seed=1), ids_of(kind.ids[0], 7))])
    assert np.array_equal(open_collection(url).vectors, rows_of(5))


@each([kind for kind in KINDS if kind.replaces])
def test_replacing_puts_the_new_rows_in_place_of_the_old(tmp_path: Path, kind: Kind) -> None:
    url = written(kind.url(tmp_path, "papers"), rows_of(5), ids_of(kind.ids[0], 5))
    with open_store(url, write=True) as store:
        store.write([Batch(rows_of(7, seed=1), ids_of(kind.ids[0], 7))], replace=True)
    assert np.array_equal(open_collection(url).vectors, rows_of(7, seed=1))


def broken(first: Batch, error: BaseException) -> Iterator[Batch]:
    yield first
    raise error


@each(KINDS)
@pytest.mark.parametrize("error", [InputError("The source went away."), KeyboardInterrupt()], ids=["error", "ctrl-c"])
def test_a_write_that_fails_leaves_nothing(tmp_path: Path, kind: Kind, error: BaseException) -> None:
    url = kind.url(tmp_path, "papers")
    first = Batch(rows_of(50), ids_of(kind.ids[0], 50))
    with open_store(url, write=True) as store, pytest.raises(type(error)):
        store.write(broken(first, error))
    with pytest.raises(InputError, match="does not exist"):
        open_store(url)
    written(url, rows_of(5), ids_of(kind.ids[0], 5))
    assert len(open_collection(url)) == 5


@each([kind for kind in KINDS if kind.replaces])
def test_a_replacement_that_fails_leaves_the_old_rows(tmp_path: Path, kind: Kind) -> None:
    url = written(kind.url(tmp_path, "papers"), rows_of(5), ids_of(kind.ids[0], 5))
    first = Batch(rows_of(50, seed=1), ids_of(kind.ids[0], 50))
    with open_store(url, write=True) as store, pytest.raises(InputError, match="went away"):
        store.write(broken(first, InputError("The source went away.")), replace=True)
    assert np.array_equal(open_collection(url).vectors, rows_of(5))


@each(KINDS)
def test_rows_of_another_dimension_are_refused_and_nothing_is_written(tmp_path: Path, kind: Kind) -> None:
    url, ids = kind.url(tmp_path, "papers"), ids_of(kind.ids[0], 60)
    with open_store(url, write=True) as store, pytest.raises(InputError, match="from 30 on have 9 numbers"):
        store.write([Batch(rows_of(30), ids[:30]), Batch(rows_of(30, 9), ids[30:])])
    with pytest.raises(InputError, match="does not exist"):
        open_store(url)


@each(KINDS)
def test_a_store_that_was_not_asked_to_write_changes_nothing(tmp_path: Path, kind: Kind) -> None:
    url = written(kind.url(tmp_path, "papers"), rows_of(5), ids_of(kind.ids[0], 5))
    attempts: list[Callable[[Any], Any]] = [lambda store: store.write([Batch(rows_of(3))], replace=True)]
    if kind.links:
        attempts.append(lambda store: store.put_links({(1, 2): 0.5}, []))
    if kind.annotates:
        attempts.append(lambda store: store.annotate({5: (1, 0.5)}))
    for attempt in attempts:
        with open_store(url) as store, pytest.raises(InputError, match="opened read-only"):
            attempt(store)
    assert np.array_equal(open_collection(url).vectors, rows_of(5))


@each(KINDS)
def test_reading_what_is_not_there_makes_nothing(tmp_path: Path, kind: Kind) -> None:
    with pytest.raises(InputError, match="does not exist"):
        open_collection(kind.url(tmp_path, "papers"))
    assert list(tmp_path.iterdir()) == []


@each(KINDS)
def test_any_number_of_rows_comes_in_batches(tmp_path: Path, kind: Kind) -> None:
    url = written(kind.url(tmp_path, "papers"), rows_of(205), ids_of(kind.ids[0], 205), size=205)
    with open_store(url) as store:
        sizes = [len(batch) for batch in store.batches(100)]
        assert sum(sizes) == 205 and max(sizes) <= 100
