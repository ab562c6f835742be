"""Several devices rank as one does: here several shards on one device, the CPU."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from directions import unit_rows
from veclink.errors import InputError
from veclink.geometry.rows import ArrayRows, ProjectedRows
from veclink.matching import Matches, certify, match, torch_backend, torch_shards
from veclink.matching.certify import Ranks, Wanted
from veclink.matching.lists import Nearest
from veclink.matching.torch_rows import DeviceRows

CPU = torch.device("cpu")


def on(shards: int, left: np.ndarray, right: np.ndarray, **options: int) -> Matches:
    """`match` on so many shards."""
    return match(left, right, device=",".join(["torch:cpu"] * shards), **options)


def assert_equal(found: Matches, expected: Matches) -> None:
    """Of every row the same partners, and the same scores but for the last bits."""
    for mine, theirs in ((found.forward, expected.forward), (found.backward, expected.backward)):
        np.testing.assert_array_equal(mine.index, theirs.index)
        np.testing.assert_allclose(mine.score, theirs.score, rtol=0, atol=2e-6)


@pytest.mark.parametrize("shards", [2, 3, 7])
@pytest.mark.parametrize("sizes", [(700, 1900), (1900, 700), (5, 900), (900, 5), (1, 1)])
def test_any_number_of_shards_ranks_as_one(shards: int, sizes: tuple[int, int]) -> None:
    left, right = (unit_rows(n, 24, seed=n + place) for place, n in enumerate(sizes))
    assert_equal(on(shards, left, right, depth=3), on(1, left, right, depth=3))


def test_neighbours_that_all_lie_in_one_shard_are_found_there() -> None:
    """Rows sorted by group: what is near to a row is in one shard, and the lists of the others hold what is far."""
    centres = np.repeat(unit_rows(8, 32, seed=1), 150, axis=0)
    left, right = (centres + 0.3 * unit_rows(len(centres), 32, seed=seed) for seed in (2, 3))
    left, right = ((side / np.linalg.norm(side, axis=1, keepdims=True)).astype(np.float32) for side in (left, right))
    assert_equal(on(4, left, right, depth=2), on(1, left, right, depth=2))


def test_rows_that_the_lists_do_not_prove_are_searched_on_every_shard(monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies by the dozen fill the lists, so that what is next after them has to be searched for."""
    distinct = unit_rows(30, 12, seed=4)
    draw = np.random.default_rng(5)
    left, right = distinct[draw.integers(0, 30, 800)], distinct[draw.integers(0, 30, 1000)]
    searched: dict[str, list[int]] = {"scan_rows": [], "scan_columns": []}
    for name, starts in searched.items():
        plain = getattr(torch_shards.Shard, name)

        def counted(shard, wanted, plain=plain, starts=starts):
            starts.append(shard.start)
            return plain(shard, wanted)

        monkeypatch.setattr(torch_shards.Shard, name, counted)
    assert_equal(on(2, left, right, depth=4), on(1, left, right, depth=4))
    assert all(set(starts) == {0, 500} for starts in searched.values())


def test_with_only_the_best_partner_proven_it_is_the_same_one() -> None:
    left, right = torch.from_numpy(unit_rows(900, 16, seed=6)), torch.from_numpy(unit_rows(1100, 16, seed=7))
    ranks = Ranks(k=10, depth=3, certain=1)
    one, two = (torch_backend.match(left, right, ranks, device=device) for device in ("cpu", "cpu,cpu"))
    np.testing.assert_array_equal(one.forward.index[:, 0], two.forward.index[:, 0])
    np.testing.assert_array_equal(one.mutual()[0], two.mutual()[0])


def test_the_larger_side_is_divided_evenly_and_the_smaller_one_held_once_on_each_device() -> None:
    left, right = unit_rows(40, 8, seed=8), unit_rows(100, 8, seed=9)
    shards = torch_shards.shards_of(left, right, [CPU, CPU, CPU])
    assert [(shard.start, shard.stop) for shard in shards] == [(0, 34), (34, 68), (68, 100)]
    assert all(shard.rows is shards[0].rows for shard in shards)


def test_shards_of_one_device_share_its_memory() -> None:
    left, right = unit_rows(40, 8, seed=8), unit_rows(100, 8, seed=9)
    assert {shard.memory for shard in torch_shards.shards_of(left, right, [CPU, CPU], 8000)} == {1000}


def test_a_merged_list_leaves_out_nothing_above_its_floor() -> None:
    left, right = unit_rows(50, 6, seed=10), unit_rows(300, 6, seed=11)
    shards = torch_shards.shards_of(left, right, [CPU, CPU, CPU])
    near, exact = torch_shards._merged([shard.listed(Ranks(k=4))[0] for shard in shards])
    cosine = torch.from_numpy(left @ right.T)
    index = near.index.long()
    torch.testing.assert_close(exact, cosine.gather(1, index), rtol=0, atol=1e-6)
    unlisted = cosine.scatter(1, index, -2.0)
    assert (unlisted.amax(dim=1) <= near.floor + 1e-6).all()
    assert (unlisted.amax(dim=1) <= near.cosine.amin(dim=1) + 1e-6).all()


def test_a_merged_list_has_the_highest_floor_of_its_parts() -> None:
    """Lists of the kernels can be short, with a floor above what they hold: it bounds what was never listed."""
    short = Nearest.none(1, 4, torch.empty(1))
    short.cosine[0, :2], short.index[0, :2] = torch.tensor([0.9, 0.8]), torch.tensor([0, 1], dtype=torch.int32)
    parts = [(replace(short, floor=torch.tensor([floor])), short.cosine) for floor in (0.5, 0.95)]
    assert torch_shards._merged(parts)[0].floor.tolist() == pytest.approx([0.95])


@pytest.mark.parametrize("copies", [1, 5])
def test_a_search_on_shards_finds_what_it_finds_on_the_whole(copies: int) -> None:
    left, right = unit_rows(90, 8, seed=16), np.repeat(unit_rows(200 // copies, 8, seed=17), copies, axis=0)
    shards = torch_shards.shards_of(left, right, [CPU, CPU, CPU])
    whole = DeviceRows(torch.from_numpy(left), CPU), DeviceRows(torch.from_numpy(right), CPU)
    scans = torch_shards._scan_rows, torch_shards._scan_columns
    for scan, (rows, others) in zip(scans, (whole, whole[::-1]), strict=True):
        chosen = torch.arange(1, len(rows), 7)
        penalty = 0.1 * torch.linspace(0, 1, len(others), dtype=torch.float64).round(decimals=1)
        least = (2 * rows.take(chosen) @ others.block(0, len(others)).T - penalty).topk(6, dim=1).values[:, -1]
        wanted = Wanted(chosen, penalty, least, width=6, error=1e-6)
        value, index = certify.scan(rows, others, wanted, tile=(64, 64), memory=1 << 20)
        found = scan(shards, wanted)
        assert torch.equal(found[1], index)
        torch.testing.assert_close(found[0], value)


def test_a_row_that_is_no_number_is_named_as_on_its_whole_side() -> None:
    left, right = unit_rows(40, 8, seed=12), unit_rows(100, 8, seed=13)
    right[73, 2] = np.nan
    with pytest.raises(InputError, match="in row 73;"):
        on(2, left, right)


def test_rows_that_are_made_when_read_are_matched_on_the_first_device(monkeypatch: pytest.MonkeyPatch) -> None:
    left, right = unit_rows(60, 8, seed=14), unit_rows(80, 8, seed=15)
    expected = on(1, left, right)
    monkeypatch.setattr(torch_shards, "match", lambda *_, **__: pytest.fail("divided"))
    made = ProjectedRows(ArrayRows(left), np.eye(8, dtype=np.float32))
    assert_equal(match(made, right, device="torch:cpu,torch:cpu"), expected)


def test_one_device_is_not_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_shards, "match", lambda *_, **__: pytest.fail("divided"))
    on(1, unit_rows(60, 8, seed=14), unit_rows(80, 8, seed=15))
