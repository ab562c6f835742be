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
from veclink import Collection, sample
from veclink.cli.app import app
from veclink.cli.terminal import print_probe
from veclink.data.no_links import NO_LINKS_WITHOUT_SEEDS
from veclink.data.pairs import score
from veclink.geometry.clouds import prepare
from veclink.probing import Probe, probe, verdict_of, verdict_of_start
from veclink.probing.inspecting import compare_spaces
from veclink.probing.trials import forecast_links, try_start
from veclink.report import save_probe

LARGE_FROM_70 = {**(forecast_links.__kwdefaults__ or {}), "most": 70}  # so that few rows are probed as many are


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


def test_each_side_is_described_by_what_it_holds() -> None:
    vectors = span_papers.some_papers().a[:200] * 3.0
    vectors = np.concatenate([vectors, vectors[:7], np.zeros((2, vectors.shape[1]), np.float32)])
    found = probe(vectors, span_papers.some_papers().b, forecast=False)
    assert (found.a.count, found.a.dimension, found.a.zero, found.a.duplicates) == (209, 96, 2, 8)  # a zero repeats too
    assert list(found.a.norms.values()) == pytest.approx([3.0, 3.0, 3.0], rel=1e-2)
    assert found.a.twins == pytest.approx(14 / 207) and 1 < found.a.effective_dimension < 200
    assert len(found.remarks) == 2, "on zero vectors and on rows that repeat"


def test_good_seeds_are_not_suspected_and_agree_on_what_is_near() -> None:
    seeds = probed().seeds
    assert seeds is not None and seeds.suspects == () and seeds.typical < 0.05
    assert seeds.correlation is not None and seeds.correlation > 0.5
    assert all(share > 2 * chance for _, share, chance in seeds.neighbours)
    assert sum(pairs for _, _, pairs in seeds.curve) == 15 * 14 // 2
    assert seeds.curve[0][1] > seeds.curve[-1][1], "near distances agree better than far ones"


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
    assert set(links.summary.wrong_seeds) == set(map(tuple, seeds[:4].tolist()))


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


def test_eight_right_seeds_are_called_near_or_too_few_to_tell_and_never_doubtful() -> None:
    papers, rng = span_papers.some_papers(), np.random.default_rng(3)
    told = []
    for _ in range(12):
        seeds = papers.truth[rng.permutation(len(papers.truth))[:8]]
        wrong = np.column_stack([seeds[:, 0], np.roll(seeds[:, 1], 1)])
        told += [probe(papers.a, papers.b, seeds=each, forecast=False) for each in (seeds, wrong)]
    right, torn = told[::2], told[1::2]
    assert {each.verdict for each in right} <= {"linkable", "unknown"}
    assert sum(each.verdict == "linkable" for each in right) >= 9
    assert {each.verdict for each in torn} == {"unknown"}


def test_one_model_on_both_sides_needs_no_linking() -> None:
    vectors = span_papers.all_papers().a
    found = probe(vectors[:1200], vectors[800:])
    assert found.verdict == "same space" and found.forecast is None
    assert found.same_space.score is not None and found.same_space.score > 0.8
    assert found.same_space.identical == pytest.approx(400 / 1200, abs=0.01)


def test_what_is_the_same_in_both_is_looked_up_in_all_of_the_other_not_in_a_sample() -> None:
    rng = np.random.default_rng(0)
    b = rng.standard_normal((9000, 48)).astype(np.float32)
    a = np.concatenate([b[rng.permutation(9000)[:2400]], rng.standard_normal((2400, 48)).astype(np.float32)])
    found = compare_spaces(prepare(Collection.from_array(a.astype(np.float16))), prepare(Collection.from_array(b)), rng)
    assert found.looked_up == 2000 and found.identical == pytest.approx(0.5, abs=0.04)


def test_two_models_of_one_dimension_are_not_taken_for_one() -> None:
    papers = span_papers.all_papers()
    turn, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((768, 384)))
    found = probe(papers.a, papers.b @ turn.astype(np.float32), forecast=False)
    assert found.same_space.score is not None and found.same_space.score < 0.5
    assert found.verdict == "unknown" and "--seeds" in found.sentence


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


def test_a_part_without_links_is_no_proof_that_the_whole_has_none() -> None:
    rng = np.random.default_rng(0)
    clouds = [prepare(Collection.from_array(rng.standard_normal((120, size)))) for size in (32, 48)]
    seeds = np.stack([np.arange(10)] * 2, axis=1)
    ahead = forecast_links(*clouds, seeds, device="cpu", random_state=0, most=0, part=60)
    assert ahead is not None and ahead.verdict == "not linkable" and ahead.wrong_seeds is None
    verdict, sentence = verdict_of(ahead)
    assert verdict == "doubtful" and sentence


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


def test_unrelated_collections_end_with_3_and_the_reason(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    np.save(tmp_path / "a.npy", rng.standard_normal((100, 32)))
    np.save(tmp_path / "b.npy", rng.standard_normal((100, 48)))
    code, out, _ = run("inspect", tmp_path / "a.npy", tmp_path / "b.npy")
    assert code == 3 and out.startswith(NO_LINKS_WITHOUT_SEEDS)
    assert "--seeds-by" in out and "with both models" in " ".join(out.split()) and out.count("Next:") == 1


def test_without_seeds_large_collections_have_their_start_tried(capsys: pytest.CaptureFixture[str]) -> None:
    papers = span_papers.some_papers()
    clouds = [prepare(Collection.from_array(each)) for each in (papers.a, papers.b)]
    start = try_start(*clouds, device="cpu", random_state=0)
    assert start.converged and start.asked == 300 and 0.4 < start.share < 0.8
    assert verdict_of_start(start, 384)[0] == "linkable" and verdict_of_start(start, 32)[0] == "doubtful"


def test_a_start_that_fails_leaves_it_unknown_and_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("veclink.probing.trials.forecast_links.__kwdefaults__", LARGE_FROM_70)
    rng = np.random.default_rng(0)
    found = probe(rng.standard_normal((80, 80)), rng.standard_normal((80, 70)), device="cpu")
    assert (found.verdict, found.sentence, found.forecast) == ("unknown", NO_LINKS_WITHOUT_SEEDS, None)
    assert found.remarks[0].startswith("Next: give 8 to 15 known pairs") and found.to_dict()["start"]["asked"] == 80
    print_probe(found)
    assert "were tried on 80 rows" in " ".join(capsys.readouterr().out.split())
    save_probe(tmp_path / "p.html", found)
    page = (tmp_path / "p.html").read_text()
    assert "No links found without seeds.</h1><p>That does not mean that nothing is shared.</p>" in page


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("missing.npy", sample.B), "missing.npy"),
        ((sample.A, sample.B, "--report", "p.txt"), "does not end in .html"),
        ((sample.A, sample.B, "--seeds", sample.A), "columns"),
    ],
)
def test_what_cannot_be_probed_is_one_sentence(arguments: tuple[object, ...], said: str) -> None:
    code, out, err = run("inspect", *arguments)
    assert code == 1 and out == "" and said in err and err.count("\n") == 1
