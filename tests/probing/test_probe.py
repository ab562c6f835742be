"""What probe says before linking: about each side, about the seeds, and about what linking will give."""

from __future__ import annotations

import json
import shlex
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import span_papers
import veclink
from veclink import Collection
from veclink.cli.app import app
from veclink.data.pairs import score
from veclink.geometry.clouds import prepare
from veclink.probing import Probe, forecast_links, probe, try_start, verdict_of_start


@cache
def probed() -> Probe:
    papers = span_papers.some_papers()
    return probe(papers.a, papers.b, seeds=papers.seeds, device="cpu")


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(each) for each in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def test_a_pair_that_links_is_called_linkable_with_the_figures_that_linking_gives() -> None:
    found, links = probed(), span_papers.linked_cut()
    assert found.verdict == "linkable" and found.sentence.startswith("Linkable")
    assert found.forecast is not None and found.forecast.whole
    assert (found.forecast.n_links, found.forecast.precision) == (len(links), links.summary.precision)
    assert found.forecast.precision_range is not None and found.forecast.seconds > 0
    low, high = found.forecast.precision_range
    assert low <= links.summary.precision <= high


@cache
def wrong_seeds() -> np.ndarray:
    """Twenty seeds of which the first four are wrong."""
    seeds = span_papers.some_papers().truth[:20].copy()
    seeds[:4, 1] = np.roll(seeds[:4, 1], 1)
    return seeds


def test_the_seeds_that_a_probe_names_are_those_that_linking_leaves_out() -> None:
    papers, seeds = span_papers.some_papers(), wrong_seeds()
    found = probe(papers.a, papers.b, seeds=seeds, device="cpu")
    links = veclink.link(papers.a, papers.b, seeds=seeds, device="cpu")
    assert found.seeds is not None and found.seeds.suspects == links.summary.wrong_seeds
    named = set(links.summary.wrong_seeds)
    assert named <= set(map(tuple, seeds[:4].tolist())) and len(named) >= 3


def test_a_probe_of_a_part_names_nearly_the_seeds_that_linking_everything_leaves_out() -> None:
    papers, seeds = span_papers.some_papers(), wrong_seeds()
    clouds = [prepare(Collection.from_array(each)) for each in (papers.a, papers.b)]
    ahead = forecast_links(*clouds, seeds, device="cpu", random_state=0, most=250, part=250)
    assert ahead is not None and not ahead.whole and ahead.wrong_seeds is not None
    assert set(ahead.wrong_seeds) <= set(map(tuple, seeds[:4].tolist())) and len(ahead.wrong_seeds) >= 3


def test_seeds_that_agree_on_nothing_make_it_doubtful() -> None:
    papers = span_papers.some_papers()
    seeds = np.column_stack([papers.truth[:15, 0], np.roll(papers.truth[:15, 1], 1)])
    found = probe(papers.a, papers.b, seeds=seeds, forecast=False)
    assert found.verdict == "doubtful"


def test_one_model_on_both_sides_needs_no_linking() -> None:
    vectors = span_papers.all_papers().a
    found = probe(vectors[:1200], vectors[800:])
    assert found.verdict == "same space" and found.forecast is None
    assert found.same_space.score is not None and found.same_space.score > 0.8
    assert found.same_space.identical == pytest.approx(400 / 1200, abs=0.01)


def test_large_collections_are_forecast_from_what_is_near_the_seeds() -> None:
    papers = span_papers.some_papers()
    clouds = [prepare(Collection.from_array(each)) for each in (papers.a, papers.b)]
    ahead = forecast_links(*clouds, papers.seeds, device="cpu", random_state=0, most=250, part=180)
    assert ahead is not None and ahead.precision is not None and ahead.shared is not None
    assert not ahead.whole and ahead.rows == (180, 180)
    assert ahead.verdict == "linkable" and ahead.precision > 0.9
    assert ahead.shared > 0.45, "a random part would share 0.36"
    assert ahead.precision_range is not None and ahead.recall_range is not None
    assert ahead.precision_range[0] < ahead.precision < ahead.precision_range[1]
    truth = score(span_papers.linked_cut().pairs, papers.truth)
    assert ahead.recall_range[0] - 0.01 <= truth.recall <= ahead.recall_range[1] + 0.01, "likely, not certain"
    assert ahead.seconds_range[0] < ahead.seconds < ahead.seconds_range[1]


def test_the_command_prints_one_verdict_line_first_or_one_json_object(tmp_path: Path) -> None:
    papers = span_papers.some_papers()
    np.save(tmp_path / "a.npy", papers.a)
    np.save(tmp_path / "b.npy", papers.b)
    (tmp_path / "seeds.csv").write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in papers.seeds))
    arguments = ("inspect", tmp_path / "a.npy", tmp_path / "b.npy", "--seeds", tmp_path / "seeds.csv", "--no-forecast")
    code, out, _ = run(*arguments)
    assert code == 0 and out.splitlines()[0].startswith("Probably linkable")
    step = ["link", *map(str, arguments[1:5]), "-o", "links.parquet", "--report", "links.html"]
    assert shlex.split(out.splitlines()[-1])[1:] == step and "a verdict on all of them" in out
    code, out, _ = run(*arguments, "--json", "--report", tmp_path / "p.html")
    told = json.loads(out)
    assert told["verdict"] == "linkable" and told["seeds"]["count"] == 15 and told["forecast"] is None
    assert (tmp_path / "p.html").exists() and told["report"] == str(tmp_path / "p.html")


def test_without_seeds_large_collections_have_their_start_tried(capsys: pytest.CaptureFixture[str]) -> None:
    papers = span_papers.some_papers()
    clouds = [prepare(Collection.from_array(each)) for each in (papers.a, papers.b)]
    start = try_start(*clouds, device="cpu", random_state=0)
    assert start.converged and start.asked == 300 and 0.4 < start.share < 0.8
    assert verdict_of_start(start, 384)[0] == "linkable" and verdict_of_start(start, 32)[0] == "doubtful"
