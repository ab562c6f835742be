"""A linker: new rows find their partners, alone or many, from either side, after a load, and are taken in."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from grown_papers import first_links, fitted, fitted_anew, grown_papers
from veclink import Collection, Linker, Links, link
from veclink.confidence import candidates
from veclink.errors import InputError, StoreError

SURE = 20


@pytest.fixture(scope="module")
def linker() -> Linker:
    return fitted()


@pytest.fixture(scope="module")
def saved(linker: Linker, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("linkers") / "papers"
    linker.save(folder)
    return folder


def test_new_rows_find_their_partners_and_the_others_none(linker: Linker) -> None:
    grown = grown_papers()
    links = linker.match(grown.new)
    right = grown.right(links)
    assert right.sum() >= 37 and right.mean() >= 0.92
    assert (links.summary.n_a, links.summary.n_b) == (60, 300)
    assert links.summary.overlap == pytest.approx(40, abs=6)
    judged = len(links.considered)
    assert len(links.at(links=judged)) == judged >= len(links)


def test_one_row_alone_has_the_partner_that_it_has_among_many(linker: Linker) -> None:
    grown = grown_papers()
    together = dict(linker.match(grown.new).pairs.tolist())
    alone = {row: linker.match(grown.new[row : row + 1]).pairs[:, 1].tolist() for row in range(0, 60, 6)}
    agree = [alone[row] == ([together[row]] if row in together else []) for row in alone]
    assert np.mean(agree) >= 0.9


def test_new_rows_of_the_other_side_are_linked_alike() -> None:
    grown = grown_papers()
    links = first_links()
    summary = replace(links.summary, n_a=links.summary.n_b, n_b=links.summary.n_a, vectors=links.summary.vectors[::-1])
    known = Links(links.pairs[:, ::-1], links.probability, summary)
    turned = Linker.fit(grown.b, grown.a, links=known)
    matched = turned.match(grown.new, side="b")
    assert (grown.partner[matched.pairs[:, 1]] == matched.pairs[:, 0]).mean() >= 0.92
    assert len(matched) >= 37 and matched.summary.n_b == 60


def test_bare_rows_are_not_taken_in_twice(saved: Path, tmp_path: Path) -> None:
    grown = grown_papers()
    linker = Linker.load(saved)
    linker.update(new_a=grown.new, b=grown.b)
    linker.save(tmp_path / "grown")
    for known in (linker, Linker.load(tmp_path / "grown")):
        before = known.links
        known.update(new_a=grown.new)
        assert known.sizes == (300, 300) and known.links == before
        part, turned, wide = grown.new[:25], grown.new[::-1], grown.new[10:].astype(np.float64)
        for batch in (part, turned, wide, np.concatenate([grown.new, grown.new[:50] + 0.01]), grown.a):
            with pytest.raises(InputError, match=r"are copies of rows that side A has already"):
                known.update(new_a=batch)
        assert known.sizes == (300, 300) and known.links == before


def test_a_row_that_fits_better_takes_a_partner_away() -> None:
    """The right partner comes later: what was linked in its place goes, and is named."""
    grown = grown_papers()
    links = first_links()
    truth = grown.partner >= 0
    place = np.flatnonzero(truth)[0]
    wrong = np.array([[240 - 1, grown.partner[place]]])
    others = links.pairs[~np.isin(links.pairs, wrong).any(axis=1)]
    pairs = np.concatenate([others, wrong])
    known = Links(pairs, np.r_[np.full(len(others), 0.9), 0.5], replace(links.summary, n_links=len(pairs)))
    linker = Linker.fit(grown.a, grown.b, links=known)
    linker.update(new_a=grown.new)
    now = linker.links.pairs
    assert now[now[:, 1] == grown.partner[place]].tolist() == [[240 + place, grown.partner[place]]]


def held(links: Links, pairs: np.ndarray) -> int:
    return len({tuple(pair) for pair in links.pairs.tolist()} & {tuple(pair) for pair in pairs.tolist()})


def test_a_large_collection_is_searched_along_one_map_with_the_same_links(monkeypatch: pytest.MonkeyPatch) -> None:
    grown = grown_papers()
    monkeypatch.setattr(candidates, "FULL_FOLDS", 100)
    large = fitted_anew()
    assert large.knowledge.whole is not None
    links = large.match(grown.new * 3)  # directions count, and not lengths
    right = grown.right(links)
    assert right.sum() >= 36 and right.mean() >= 0.9


def test_a_saved_linker_gives_the_same_links_and_holds_no_pickle(linker: Linker, saved: Path) -> None:
    grown = grown_papers()
    loaded = Linker.load(saved)
    assert loaded.links == linker.links
    assert loaded.match(grown.new, against=grown.b) == linker.match(grown.new)
    np.testing.assert_array_equal(loaded.translate(grown.new), linker.translate(grown.new))
    assert {path.suffix for path in saved.iterdir()} == {".json", ".safetensors", ".parquet"}
    assert json.loads((saved / "linker.json").read_text())["a"]["parts"][0]["rows"] == 240


def test_a_loaded_linker_says_what_it_needs(saved: Path) -> None:
    grown = grown_papers()
    loaded = Linker.load(saved)
    with pytest.raises(InputError, match=r"side B are not part of the linker.*--against"):
        loaded.match(grown.new)
    with pytest.raises(InputError, match="are not those that the linker was fitted to"):
        loaded.match(grown.new, against=grown.b[::-1])
    for row in (100, 101):  # every second row was looked at once
        other = grown.b.copy()
        other[row] *= 2
        with pytest.raises(InputError, match="are not those that the linker was fitted to"):
            loaded.match(grown.new, against=other)
    with pytest.raises(InputError, match="has 299 rows, and the linker knows 300"):
        loaded.match(grown.new, against=grown.b[:-1])
    with pytest.raises(InputError, match="check the side"):
        loaded.match(grown.b[:3], against=grown.b)
    with pytest.raises(InputError, match="no new rows"):
        loaded.update()


def test_files_of_two_linkers_are_not_one_linker(
    linker: Linker, saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grown = grown_papers()
    folder = tmp_path / "mixed"
    longer = Linker.load(saved).update(new_a=grown.new, b=grown.b)
    longer.save(folder)
    with monkeypatch.context() as patch:  # while one is read, another is written
        patch.setattr("veclink.uses.linker.Translator.load", lambda path: longer.save(folder))
        with pytest.raises(StoreError, match="changed while it was read"):
            Linker.load(folder)
    for name in ("rows_a.safetensors", "links.parquet", "a_to_b.safetensors"):
        mine = (folder / name).read_bytes()
        other = (saved / name).read_bytes()
        if other == mine:  # an update leaves the maps as they are: one bit of a number is another
            other = mine[:-1] + bytes([mine[-1] ^ 1])
        (folder / name).write_bytes(other)
        with pytest.raises(InputError, match=r"not a sound linker.*not written together"):
            Linker.load(folder)
        (folder / name).write_bytes(mine)
    assert Linker.load(folder).sizes == (300, 300)
    with pytest.raises(InputError, match=r"is not a sound linker.*No such file"):
        Linker.load(tmp_path)
    (folder / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match=r"other files, which would be lost: 'mine\.txt'"):
        linker.save(folder)


def test_rows_that_are_taken_in_are_rows_of_the_linker(saved: Path, tmp_path: Path) -> None:
    grown = grown_papers()
    linker = Linker.load(saved)
    before = {tuple(pair) for pair in linker.links.pairs.tolist()}
    alone = linker.match(grown.new[:30], against=grown.b)
    linker.update(new_a=grown.new[:30]).update(new_a=grown.new[30:])
    assert linker.sizes == (300, 300)
    pairs = linker.links.pairs
    new = pairs[:, 0] >= 240
    right = grown.partner[pairs[new, 0] - 240] == pairs[new, 1]
    assert right.sum() >= 37 and right.mean() >= 0.92
    assert all(len(np.unique(side)) == len(side) for side in pairs.T)
    assert len(before & {tuple(pair) for pair in pairs.tolist()}) >= 0.95 * len(before)
    first = {(row + 240, partner) for row, partner in alone.pairs.tolist()}
    assert len(first & {tuple(pair) for pair in pairs.tolist()}) >= len(first) - 1
    linker.save(tmp_path / "grown")
    again = Linker.load(tmp_path / "grown")
    whole = np.concatenate([grown.a, grown.new])
    assert again.match(grown.b[:5], side="b", against=whole).summary.n_a == 300


def test_nothing_is_linked_again_where_that_is_not_wanted() -> None:
    linker = fitted().update(new_a=grown_papers().new, refit=False)  # a quarter more: else it would be
    assert linker.sizes == (300, 300) and linker.knowledge.fitted_sizes == (240, 300)


def test_a_batch_that_was_taken_in_is_known_whatever_came_after_it(saved: Path) -> None:
    grown = grown_papers()
    linker = Linker.load(saved)
    monday = linker.match_and_update(grown.new[:25], against=grown.b)
    tuesday = linker.match_and_update(grown.new[25:45])
    assert len(monday) >= 10 and len(tuesday) >= 8
    for again in (linker.match_and_update(grown.new[:25]), linker.match(grown.new[:25])):
        assert again.pairs.tolist() == monday.pairs.tolist() and again.summary.n_a == 25
        (reason,) = again.summary.why
        assert reason.code == "new_partners" and reason.values["rows"] == 25
    assert linker.sizes == (285, 300) and linker.knows(grown.new[:25]) == slice(240, 265)
    assert linker.knows(grown.new[:24]) is None and linker.knows(grown.a) is None


def test_earlier_links_are_a_start_by_ids_and_are_not_believed() -> None:
    grown = grown_papers()
    ids = np.array([f"p{row}" for row in range(300)], dtype=object)
    found = first_links()
    earlier = Links(found.pairs, found.probability, found.summary, ids_a=ids[found.pairs[:, 0]])
    order = np.random.default_rng(1).permutation(300)
    whole = Collection.from_array(np.concatenate([grown.a, grown.new])[order], ids=ids[order])
    links = link(whole, grown.b, continued=earlier, device="cpu")
    assert links.summary.verdict == "linkable" and links.trace["starts"][0][0] == "earlier links"
    assert not links.evidence["given"].any()
    new = np.array([int(name[1:]) for name in links.ids_a]) - 240
    found = grown.partner[new[new >= 0]] == links.pairs[new >= 0, 1]
    assert found.sum() >= 37
    with pytest.raises(InputError, match="a run starts from one of them"):
        link(whole, grown.b, continued=earlier, seeds=grown.seeds)
    with pytest.raises(InputError, match="had 240 when the links were made"):
        link(grown.a[:200], grown.b, continued=first_links())
