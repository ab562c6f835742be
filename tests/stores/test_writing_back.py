"""Links go back into every store that can hold them: told first, done on request, and a second time nothing changes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from store_kinds import KINDS, Kind, ids_of, payload_of, rows_of
from veclink.cli.app import app
from veclink.data.links import Links
from veclink.data.summary import Summary
from veclink.errors import InputError
from veclink.stores import open_store
from veclink.stores.opening import open_collection
from veclink.stores.protocol import Batch
from veclink.uses.exporting import annotate, export_links

HOLD_LINKS = [kind for kind in KINDS if kind.links]
ANNOTATE = [kind for kind in KINDS if kind.annotates]


def links_of(ids_a: np.ndarray, ids_b: np.ndarray, count: int, *, first: float = 0.99) -> Links:
    """Object i of A is object i of B, less and less surely."""
    pairs = np.stack([np.arange(count)] * 2, axis=1)
    summary = Summary("span", n_a=len(ids_a), n_b=len(ids_b), n_links=count)
    return Links(pairs, first - np.arange(count) / 1000, summary, ids_a=ids_a[:count], ids_b=ids_b[:count])


@pytest.mark.parametrize("ids", ["int", "str"])
@pytest.mark.parametrize("kind", HOLD_LINKS, ids=lambda kind: kind.name)
def test_a_table_of_links_says_what_the_file_says(tmp_path: Path, kind: Kind, ids: str) -> None:
    url, names = kind.url(tmp_path, "links"), ids_of(ids, 40)
    links = links_of(names, ids_of("str", 40), 30)
    told = export_links(links, url)
    assert (told.new, told.changed, told.removed, told.same) == (30, 0, 0, 0)
    with open_store(url, write=True) as store:
        assert store.links() is None  # told, not done
    export_links(links, url, write=True)
    with open_store(url, write=True) as store:
        assert store.links() == dict(
            zip(zip(names[:30], ids_of("str", 30), strict=True), links.probability.tolist(), strict=True)
        )
    again = export_links(links, url, write=True)
    assert (again.any, again.same) == (False, 30)
    fewer = export_links(links_of(names, ids_of("str", 40), 20, first=0.9), url, write=True)
    assert (fewer.new, fewer.changed, fewer.removed) == (0, 20, 10)
    assert not export_links(links_of(names, ids_of("str", 40), 20, first=0.9), url).any


@pytest.mark.parametrize("kind", HOLD_LINKS, ids=lambda kind: kind.name)
def test_a_collection_of_vectors_is_never_taken_for_a_table_of_links(tmp_path: Path, kind: Kind) -> None:
    url = kind.url(tmp_path, "papers")
    with open_store(url, write=True) as store:
        store.write([Batch(rows_of(20), ids_of("int", 20), payload_of(20))])
    with pytest.raises(InputError, match=r"no table of links|something else than links"):
        export_links(links_of(ids_of("int", 20), ids_of("int", 20), 5), url, write=True)
    assert np.array_equal(open_collection(url).vectors, rows_of(20))


@pytest.mark.parametrize("ids", ["int", "str", "uuid"])
@pytest.mark.parametrize("kind", ANNOTATE, ids=lambda kind: kind.name)
def test_objects_are_annotated_and_otherwise_unchanged(tmp_path: Path, kind: Kind, ids: str) -> None:
    url, names, partners = kind.url(tmp_path, "papers"), ids_of(ids, 40), ids_of("str", 40)
    with open_store(url, write=True) as store:
        store.write([Batch(rows_of(40), names, payload_of(40))])
    links = links_of(partners, names, 30)
    assert annotate(links, url, "b").new == 30
    assert "veclink_id" not in open_collection(url).payload.column_names  # told, not done
    annotate(links, url, "b", write=True)
    read = open_collection(url)
    assert np.array_equal(np.sort(read.vectors, axis=0), np.sort(rows_of(40), axis=0))
    order = [read.ids.tolist().index(name) for name in names]
    assert np.array_equal(read.vectors[order], rows_of(40))
    payload = read.payload.take(order).to_pydict()
    assert payload["veclink_id"] == [*partners[:30], *[None] * 10]
    assert payload["veclink_probability"] == [*links.probability.tolist(), *[None] * 10]
    assert {key: payload[key] for key in payload_of(1).column_names} == payload_of(40).to_pydict()
    assert not annotate(links, url, "b", write=True).any
    told = annotate(links_of(partners, names, 10, first=0.5), url, "b", write=True)
    assert (told.new, told.changed, told.removed) == (0, 10, 20)
    assert not annotate(links_of(partners, names, 10, first=0.5), url, "b").any


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(each) for each in arguments])
    return result.exit_code, result.stdout, result.stderr
