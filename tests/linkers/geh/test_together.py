"""GEH's views matched together on a torch device: they propose what they do one by one, in parts of any size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from span_papers import some_papers
from veclink.data.collection import Collection
from veclink.data.pairs import score
from veclink.geometry.clouds import Cloud, prepare
from veclink.geometry.signatures import kernel_width
from veclink.linkers.anchors import anchors_from_pairs
from veclink.linkers.geh import together
from veclink.linkers.geh.linker import geh
from veclink.linkers.geh.together import kernel_widths
from veclink.linkers.geh.views import GlobalPath, Proposal, Settings
from veclink.linkers.options import GehOptions


def _clouds() -> tuple[Cloud, Cloud]:
    papers = some_papers()
    a, b = (prepare(Collection.from_array(each), centre=True) for each in (papers.a, papers.b))
    return a, b


def _views(device: str, links: int = 60, **options: Any) -> list[Proposal]:
    papers = some_papers()
    a, b = _clouds()
    settings = Settings(GehOptions(**({"view_choice": "random"} | options)), None, device)
    path = GlobalPath(a, b, anchors_from_pairs(a, b, papers.seeds), settings)
    return list(path.round(papers.truth[:links], np.random.default_rng(0)).proposals)


def _same(one: list[Proposal], other: list[Proposal]) -> float:
    """The share of all proposals that both have."""
    found = [
        {(view, *pair) for view, each in enumerate(proposals) for pair in each.pairs.tolist()}
        for proposals in (one, other)
    ]
    return len(found[0] & found[1]) / len(found[0] | found[1])


@pytest.mark.parametrize("links", [0, 60])
@pytest.mark.parametrize("options", [{"k": 10}, {"k": 10, "encoding": "raw"}, {"k": 5000, "view_choice": "fps"}])
def test_views_together_propose_what_they_do_one_by_one(links: int, options: dict[str, Any]) -> None:
    here, there = (_views(device, links, **options) for device in ("cpu", "torch:cpu"))
    assert len(here) == len(there) == (8 if links else 1)
    assert _same(here, there) > 0.99  # `exp` rounds otherwise there
    assert np.isclose(here[0].score.mean(), there[0].score.mean(), atol=1e-3)


def test_parts_of_any_size_propose_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = _views("torch:cpu", k=10)
    papers = some_papers()
    monkeypatch.setattr(together, "MOST_BYTES", 8 * len(papers.a) * len(papers.b))
    assert _same(_views("torch:cpu", k=10), whole) > 0.99
    monkeypatch.setattr(together, "LARGEST", 8 * len(papers.a) * len(papers.b) - 1)
    assert not together.Together.can_hold(len(papers.a), len(papers.b))
    assert _same(_views("torch:cpu", k=10), whole) > 0.99, "one by one, where even one view is too much"


def test_links_grown_on_a_torch_device_are_as_good() -> None:
    papers = some_papers()
    a, b = _clouds()
    options = GehOptions(k=10, max_iterations=6, view_choice="random", own_votes=False)
    anchors = anchors_from_pairs(a, b, papers.seeds)
    here, there = (
        score(geh(a, b, anchors, options, device=device).pairs, papers.truth).f1 for device in ("cpu", "torch:cpu")
    )
    assert here > 0.6
    assert abs(here - there) < 0.03


def test_widths_of_several_views_are_those_of_each() -> None:
    rng = np.random.default_rng(0)
    r = rng.random((3, 8, 5)).astype(np.float32)
    r[1, 4:] = r[1, :4]  # distances of zero do not count
    r[2] = r[2, :1]
    widths = kernel_widths(torch.from_numpy(r)).numpy()
    assert np.allclose(widths, [kernel_width(each) for each in r], rtol=1e-12)
    assert widths[2] == 1.0
