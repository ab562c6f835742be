"""What the report says, and that it says it safely, for every kind of result and of input."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import packed_data
import span_papers
import toy_evidence
from small_papers import N_SEEDS, small_papers
from veclink import Collection, Links, link, open_collection, sample
from veclink.confidence import evidence
from veclink.confidence.intervals import estimate
from veclink.data.agreement import Agreement
from veclink.data.summary import Summary
from veclink.errors import OutputError
from veclink.report import save_report
from veclink.report.content import gather
from veclink.report.words import headline

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)',
    "--><!--",
    "&lt;b&gt;",
    "'; alert(1); '",
    "\u202eturned around\u202c",
    "line\nbreak\ttab\x00\x1b[31m",
    "=HYPERLINK(1)",
    "",
    "x" * 5000,
    "{{7*7}}${7*7}",
]


def unpacked(page: str) -> dict[str, Any]:
    """The data of a page as the browser reads it."""
    found = re.search(r'<script type="text/plain" id="data">([^<]*)</script>', page)
    assert found is not None
    return packed_data.unpacked(found[1])


def cut_report(path: Path, **options: Any) -> str:
    """The page of the links of the small cut."""
    papers = span_papers.some_papers()
    save_report(path, options.pop("links", span_papers.linked_cut()), papers.a, papers.b, **options)
    return path.read_text(encoding="utf-8")


def hostile_report(path: Path) -> str:
    papers = span_papers.some_papers()
    names = [HOSTILE[row % len(HOSTILE)] for row in range(300)]
    ids = [f"{name}{row}" for row, name in enumerate(names)]
    a, b = (
        Collection.from_array(each, ids=ids, payload=pa.table({"title": names}), name=f"/x/{HOSTILE[1]}.npy")
        for each in (papers.a, papers.b)
    )
    links = span_papers.linked_cut()
    named = replace(
        links, ids_a=np.array(ids, object)[links.pairs[:, 0]], ids_b=np.array(ids, object)[links.pairs[:, 1]]
    )
    save_report(path, replace(named, summary=replace(links.summary, reasons=tuple(HOSTILE))), a, b)
    return path.read_text(encoding="utf-8")


def test_titles_ids_names_and_reasons_cannot_become_part_of_the_page(tmp_path: Path) -> None:
    page = hostile_report(tmp_path / "r.html")
    assert page.count("<script") == 2 and page.count("</script>") == 2
    assert "onerror=alert" not in page.replace("&lt;img src=x onerror=alert(1)&gt;", "")
    assert ' onmouseover="alert' not in page
    assert "\x00" not in page and "\u202e" not in page
    assert max(map(len, unpacked(page)["texts"])) == 160


def test_a_hostile_report_runs_nothing_and_shows_the_titles_as_they_are(tmp_path: Path, visit: Any) -> None:
    hostile_report(tmp_path / "r.html")
    opened = visit(tmp_path / "r.html")
    opened.page.on("dialog", lambda dialog: pytest.fail("a title was run as a script"))
    opened.page.fill("#search", "<script>alert(1)")
    opened.page.click("#links tbody tr >> nth=0")
    opened.page.wait_for_selector("dialog[open]")
    assert "<script>alert(1)</script>" in opened.page.inner_text("dialog")
    assert opened.complaints == [] and len(opened.asked) == 1


def test_the_page_forbids_all_loading_and_every_script_but_its_own(tmp_path: Path) -> None:
    page = cut_report(tmp_path / "r.html")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None and "default-src 'none'" in policy[1] and "unsafe" not in policy[1]
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", page)


def test_the_data_hold_every_judged_pair_with_its_names_and_evidence(tmp_path: Path) -> None:
    data, links = unpacked(cut_report(tmp_path / "r.html")), span_papers.linked_cut()
    whole = links.considered
    assert whole is not None
    column = data["column"]
    assert data["facts"]["kept"] == len(links) and len(column["rank"]) == len(whole)
    assert np.allclose(column["probability"] / 65535, whole.probability, atol=1e-5)
    assert [int(data["ids_a"][place]) for place in column["a"]] == whole.pairs[:, 0].tolist()
    rivals = [int(data["ids_b"][place]) for place in column["rival_b"]]
    assert rivals == whole.evidence["rival_b"].tolist()
    assert np.allclose(column["score"] * 1e-4, whole.evidence["score"], atol=1e-4)


def test_titles_come_from_the_payload_and_ids_stand_in_where_there_are_none() -> None:
    content = gather(span_papers.linked(), *(open_collection(path) for path in (sample.A, sample.B)))
    title = span_papers.demo().shown[0].title_a
    assert title in packed_data.unpacked(content.packed)["texts"]
    assert gather(span_papers.linked(), None, None).close_calls[0].a.count(".") >= 2  # an id of the anthology


def test_bare_arrays_get_their_titles_from_payload_that_is_given(tmp_path: Path) -> None:
    papers, path = span_papers.some_papers(), tmp_path / "r.html"
    titles = [f"The paper number {row}" for row in range(300)]
    span_papers.linked_cut().report(path, papers.a, papers.b, payload_a=titles, payload_b=titles)
    shown = str(unpacked(path.read_text(encoding="utf-8")))
    assert titles[int(span_papers.linked_cut().pairs[0, 0])] in shown
    assert titles[0] not in str(unpacked(cut_report(tmp_path / "without.html")))


def test_a_report_without_the_collections_has_no_map_but_all_the_rest(tmp_path: Path) -> None:
    save_report(tmp_path / "r.html", span_papers.linked())
    page = (tmp_path / "r.html").read_text()
    assert 'id="map"' not in page and 'id="histogram"' in page and 'id="links"' in page


@pytest.mark.parametrize(
    ("ending", "reach"),
    [("csv", "the threshold can be raised but not lowered"), ("parquet", "further pairs were considered and left out")],
)
def test_links_that_were_saved_and_loaded_still_explain_themselves(
    tmp_path: Path, visit: Any, ending: str, reach: str
) -> None:
    span_papers.linked_cut().save(tmp_path / f"links.{ending}", columns="all")
    cut_report(tmp_path / "r.html", links=Links.load(tmp_path / f"links.{ending}"))
    page = visit(tmp_path / "r.html").page
    assert reach in page.inner_text("#threshold")
    page.click("#links tbody tr >> nth=20")
    assert page.locator("dialog .waterfall .step").count() == 9


def test_links_of_a_short_csv_say_that_their_reasons_are_elsewhere(tmp_path: Path, visit: Any) -> None:
    span_papers.linked_cut().save(tmp_path / "links.csv")
    cut_report(tmp_path / "r.html", links=Links.load(tmp_path / "links.csv"))
    opened = visit(tmp_path / "r.html")
    opened.page.click("#links tbody tr >> nth=20")
    assert "A .parquet file has the reasons" in opened.page.inner_text("dialog") and opened.complaints == []


def test_the_explanation_shows_every_kind_of_evidence_that_the_model_has(
    tmp_path: Path, visit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing but the registry knows of the two toys, and the page's script shows them with their words."""
    monkeypatch.setattr(evidence, "REGISTRY", (*evidence.REGISTRY, *toy_evidence.TOYS))
    papers = span_papers.some_papers()
    cut_report(tmp_path / "r.html", links=link(papers.a, papers.b, seeds=papers.seeds, device="cpu"))
    opened = visit(tmp_path / "r.html")
    opened.page.click("#links tbody tr >> nth=20")
    told = opened.page.inner_text("dialog .waterfall")
    assert all(entry.label in told for entry in evidence.REGISTRY if entry.part_of is None)
    assert opened.page.locator("dialog .waterfall .step").count() == 11 and opened.complaints == []


def test_collections_that_do_not_link_get_a_report_that_says_so(tmp_path: Path, visit: Any) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((100, 32)), rng.standard_normal((100, 48))
    save_report(tmp_path / "r.html", link(a, b, device="cpu"), a, b)
    opened = visit(tmp_path / "r.html")
    assert opened.page.inner_text("h1") == "No links found without seeds."
    assert "veclink probe" in opened.page.inner_text(".verdict")
    assert "no seeds, 3 times, agreement on at most" in opened.page.inner_text("#growth")
    assert opened.page.locator("#links").count() == 0
    assert opened.complaints == []


def test_geh_links_are_shown_without_estimates_that_it_does_not_make(tmp_path: Path, visit: Any) -> None:
    a, b, truth = small_papers()
    a, b = a[:90], b[:90]
    links = link(a, b, seeds=truth[:N_SEEDS], method="geh", device="cpu")
    save_report(tmp_path / "r.html", links, a, b)
    opened = visit(tmp_path / "r.html")
    assert "does not estimate" in opened.page.inner_text(".verdict")
    assert opened.page.locator("#curve").count() == 0 and opened.page.locator("#histogram").count() == 1
    opened.page.click("#links tbody tr >> nth=0")
    assert opened.complaints == [] and "views" in opened.page.inner_text("dialog")


def test_growth_that_ended_after_one_round_is_a_sentence_and_no_chart(tmp_path: Path, visit: Any) -> None:
    links = Links(np.empty((0, 2), np.int64), np.empty(0), Summary("by hand", 30, 30, 0), trace={"growth": [[12, 3]]})
    save_report(tmp_path / "r.html", links)
    opened = visit(tmp_path / "r.html")
    assert "ended after one round, with 12 links in the pool" in opened.page.inner_text("#growth")
    assert opened.page.locator("#growth canvas").count() == 0 and opened.complaints == []


def test_pairs_of_any_origin_can_be_shown(tmp_path: Path, visit: Any) -> None:
    rows = np.arange(30)
    links = Links(np.column_stack([rows, rows[::-1]]), np.linspace(0.2, 1, 30), Summary("by hand", 30, 30, 30))
    save_report(tmp_path / "r.html", links)
    opened = visit(tmp_path / "r.html")
    opened.page.click("#links tbody tr >> nth=2")
    assert "row 27" in opened.page.inner_text("dialog") and opened.complaints == []


def test_links_with_several_partners_are_shown_like_others(tmp_path: Path, visit: Any) -> None:
    papers = span_papers.some_papers()
    links = link(
        papers.a[:200], papers.b, seeds=papers.truth[papers.truth[:, 0] < 200][:15], one_to_one=False, device="cpu"
    )
    save_report(tmp_path / "r.html", links, papers.a[:200], papers.b)
    opened = visit(tmp_path / "r.html")
    opened.page.click("#links tbody tr >> nth=0")
    assert opened.page.locator("dialog .waterfall .step").count() == 9 and opened.complaints == []


@pytest.mark.parametrize(
    ("verdict", "precision", "said"),
    [
        ("linkable", 0.99, "You can trust these links."),
        ("linkable", 0.75, "Most links are right, but not all."),
        ("doubtful", 0.95, "Doubtful: look at the links before you use them."),
        ("not linkable", 0.5, "Not linkable: do not use these links."),
    ],
)
def test_the_headline_promises_no_more_than_the_verdict_and_the_estimate(
    verdict: str, precision: float, said: str
) -> None:
    rows = np.arange(400)
    summary = Summary("span", 500, 500, 400, precision, 0.9, 420.0, verdict)
    links = Links(np.column_stack([rows, rows]), np.full(400, precision), summary)
    assert headline(links, estimate(links))[0] == said


def test_contradicting_seeds_and_the_version_of_the_calibration_are_in_the_report(tmp_path: Path) -> None:
    links = span_papers.linked_cut()
    torn = tuple((200, row) for row in range(25))
    summary = replace(links.summary, contradicting_seeds=torn, calibration="0.7x")
    page = cut_report(tmp_path / "r.html", links=replace(links, summary=summary))
    assert "Settle the 25 given pairs that contradict one another; none of them was used." in page
    assert "200 – 0, 200 – 1," in page and "200 – 19 …" in page
    assert "<th scope=row>Calibration</th><td>0.7x</td>" in page


def test_an_old_report_stays_where_the_new_one_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "r.html").mkdir()
    with pytest.raises(OutputError, match="it is a folder"):
        cut_report(tmp_path / "r.html")
    assert [each.name for each in tmp_path.iterdir()] == ["r.html"]


def test_the_same_links_give_the_same_file(tmp_path: Path) -> None:
    assert cut_report(tmp_path / "one.html") == cut_report(tmp_path / "two.html")


def test_importing_the_report_loads_no_linker() -> None:
    code = "import sys, veclink.report; print([name for name in sys.modules if name.startswith('veclink.linkers')])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"


def test_a_run_without_a_start_is_not_called_unlinkable_and_says_what_to_do(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((60, 80)), rng.standard_normal((60, 70))
    save_report(tmp_path / "r.html", link(a, b, device="cpu"))
    page = (tmp_path / "r.html").read_text()
    first = page[page.index('<section class="verdict') : page.index("</section>")]
    assert 'class="verdict doubtful"' in first and "No links found without seeds.</h1>" in first
    assert "That does not mean that nothing is shared." in first and "nothing here" not in first
    assert "8 to 15 known pairs" in first and "--seeds-by title" in first and "veclink anchors" in first
    assert first.count("No links found") == 1 and "Next:" not in first, "said once"


def test_too_few_rows_are_called_so(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    links = link(rng.standard_normal((10, 8)), rng.standard_normal((12, 9)), device="cpu")
    save_report(tmp_path / "r.html", links)
    assert "Too few rows to link.</h1>" in (tmp_path / "r.html").read_text()


def test_the_report_says_how_many_titles_agree(tmp_path: Path) -> None:
    links = span_papers.linked()
    save_report(tmp_path / "r.html", links)
    assert links.summary.agreement is not None and "Titles agree in " in links.summary.agreement.sentence
    assert f"<li>{links.summary.agreement.sentence}</li>" in (tmp_path / "r.html").read_text()


def test_a_payload_that_looks_shuffled_is_told_right_below_the_headline(tmp_path: Path) -> None:
    links = span_papers.linked()
    agreement = Agreement("title", "title", 0, len(links), note="If they should, look.")
    links = replace(links, summary=replace(links.summary, agreement=agreement))
    save_report(tmp_path / "r.html", links)
    page = (tmp_path / "r.html").read_text()
    assert f"</h1><p>Titles agree in 0 of {len(links):,} links. If they should, look. {len(links):,} links were" in page


def test_titles_that_came_after_linking_in_another_order_are_told_of(tmp_path: Path) -> None:
    same = np.stack([np.arange(20)] * 2, axis=1)
    links = Links(same, np.full(20, 0.9), Summary("span", 20, 20, 20))
    titles = [f"title {row}" for row in range(20)]
    for place, payload_b in enumerate((titles, np.roll(titles, 1))):
        save_report(tmp_path / "r.html", links, np.eye(20), np.eye(20), payload_a=titles, payload_b=payload_b)
        assert ("<p>Titles agree in 0 of 20 links. If" in (tmp_path / "r.html").read_text()) is bool(place)
