"""A pair of clouds on a torch device gives what one in numpy gives: here on the CPU, in torch."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from small_papers import small_papers
from span_papers import candidates, cloud_pair, pool, some_papers
from veclink.backends import CloudPair, look_on
from veclink.backends.torch_clouds import TorchCloudPair, bytes_held, held_on
from veclink.data.collection import Collection
from veclink.errors import InputError
from veclink.geometry.clouds import inspected, prepare
from veclink.geometry.nearest import local_agreement, nearest_links
from veclink.geometry.signatures import joined_projections
from veclink.linkers.linking import link
from veclink.matching.torch_backend import torch_device

DEVICE = "torch:cpu"


def _on_device(number_bytes: int = 4) -> TorchCloudPair:
    clouds = (prepare(Collection.from_array(each)) for each in (some_papers().a, some_papers().b))
    return TorchCloudPair(*(held_on(cloud, torch_device(DEVICE), number_bytes) for cloud in clouds), device=DEVICE)


@pytest.mark.parametrize("number_bytes", [2, 0])
def test_rows_in_float16_and_rows_that_are_sent_have_the_signatures_of_those_in_float32(number_bytes: int) -> None:
    whole, other, links = _on_device(), _on_device(number_bytes), pool().pairs
    axes = joined_projections(*whole.vectors(links))
    for side, projection in zip("ab", axes, strict=True):
        expected = whole.signature(side, projection)
        assert np.allclose(other.signature(side, projection), expected, atol=2e-3 if number_bytes else 1e-6)
        some = np.array([3, 0, 299])
        assert np.allclose(other.signature(side, projection, some), expected[some], atol=2e-3 if number_bytes else 1e-6)
    found, expected_pairs = ({tuple(pair) for pair in each.propose(axes)[0].tolist()} for each in (other, whole))
    assert len(found & expected_pairs) >= 0.98 * len(expected_pairs)


@pytest.mark.parametrize(("gigabytes", "number_bytes"), [(100, 4), (60, 2), (40, 0), (20, None)])
def test_clouds_are_held_in_as_many_bytes_as_there_is_room_for(gigabytes: int, number_bytes: int | None) -> None:
    shapes = (3_500_000, 1024), (3_500_000, 1536)
    assert bytes_held(*shapes, gigabytes * 10**9) == number_bytes
    assert bytes_held(*shapes, None) == 4


def test_matching_along_axes_gives_the_same_pairs_and_cosines() -> None:
    plain, device, links = cloud_pair(), _on_device(), pool().pairs
    axes = joined_projections(*plain.vectors(links))
    pairs, score = plain.propose(axes)
    same, again = device.propose(axes)
    assert len(set(map(tuple, pairs.tolist())) ^ set(map(tuple, same.tolist()))) <= 2
    assert np.allclose(np.sort(score)[-100:], np.sort(again)[-100:], atol=1e-4)
    rows = links[:50, 0], links[:50, 1]
    assert np.allclose(device.cosines(axes, *rows), plain.cosines(axes, *rows), atol=1e-5)


def test_neighbourhood_features_are_the_same() -> None:
    plain, device, links = cloud_pair(), _on_device(), pool().pairs
    rows = candidates().rows_a[:80], candidates().rows_b[:80]
    on_both = (local_agreement(clouds.a, clouds.b, links, *rows) for clouds in (device, plain))
    for ours, reference in zip(*on_both, strict=True):
        assert np.allclose(ours, reference, atol=1e-3)
    for side in "ab":
        ours, reference = (each.own_density(side, np.random.default_rng(0)) for each in (device, plain))
        assert np.allclose(ours, reference, atol=1e-3)
    (rows_a, near_a), (rows_b, near_b) = (nearest_links(each.a, each.b, links[:20], links) for each in (device, plain))
    assert np.array_equal(rows_a, rows_b) and np.allclose(near_a, near_b, atol=1e-5)


def _in_memory() -> CloudPair:
    """Not the one that all tests share: its being large would stay."""
    return CloudPair(cloud_pair().a, cloud_pair().b)


@pytest.mark.parametrize("make", [_in_memory, _on_device])
def test_a_sample_of_rows_finds_most_of_their_partners(make: Callable[[], CloudPair]) -> None:
    clouds, papers = make(), some_papers()
    axes = joined_projections(*clouds.vectors(papers.truth))
    clouds.large = True
    sample = clouds.sample_queries(np.random.default_rng(0), most=200)
    pairs, _ = clouds.propose(axes, sample)
    assert set(pairs[:, 0]) <= set(sample.rows) and len(pairs) <= sample.extent == 200
    kept = pairs[clouds.confirmed(axes, pairs, sample, np.random.default_rng(0))]
    shared = np.isin(sample.rows, papers.truth[:, 0]).sum()
    assert papers.right(kept).sum() >= 0.9 * shared
    assert papers.right(kept).mean() > papers.right(pairs).mean()


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.int8, ">f4", ">f8"])
def test_every_kind_of_number_is_read_as_the_cloud_reads_it(kind: type | str) -> None:
    numbers = np.random.default_rng(0).normal(size=(50, 8)) * (30 if kind is np.int8 else 1)
    source = Collection.from_array(numbers.astype(kind), scale=np.full((1, 8), 0.5) if kind is np.int8 else None)
    cloud, device = prepare(source), prepare(source, look=look_on(DEVICE))
    assert np.allclose(cloud.mean, device.mean, atol=1e-6)
    assert np.allclose(held_on(device, torch_device(DEVICE), 4).whole.numpy(), cloud.dense(), atol=1e-5)


def test_broken_and_zero_rows_are_named_from_the_device_too() -> None:
    vectors = np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32)
    vectors[7] = 0
    assert inspected(Collection.from_array(vectors), "A", look_on(DEVICE))[0].tolist() == [7]
    vectors[9, 2] = np.nan
    with pytest.raises(InputError, match=r"NaN or infinite numbers in row 9"):
        prepare(Collection.from_array(vectors), look=look_on(DEVICE))


def test_linking_on_a_device_finds_what_the_cpu_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b, truth = small_papers()
    monkeypatch.setattr("veclink.backends.DEVICES", ("cpu", DEVICE))
    reference, ours = (link(a, b, seeds=truth[:15], device=device) for device in ("cpu", DEVICE))
    assert ours.summary.verdict == reference.summary.verdict
    common = set(map(tuple, ours.pairs.tolist())) & set(map(tuple, reference.pairs.tolist()))
    assert len(common) >= 0.97 * max(len(ours), len(reference))
