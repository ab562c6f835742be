"""What results say: `sentences.json` beside this holds every sentence; all other tests ask for codes and values.

PYTHONPATH=src python tests/data/test_words.py    write them again, when a sentence is meant to change
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from veclink.data import words
from veclink.data.summary import NOT_LINKABLE, Summary

FILE = Path(__file__).with_name("sentences.json")
SENTENCES = json.loads(FILE.read_text(encoding="utf-8"))  # (code, values, sentence)


def test_every_sentence_is_as_it_was_meant() -> None:
    assert [words.say(code, **values) for code, values, _ in SENTENCES] == [sentence for *_, sentence in SENTENCES]
    known = vars(words.templates("veclink.data").get_template("words.txt").module)
    assert {code for code, *_ in SENTENCES} == {name for name in known if not name.startswith("_")}


@pytest.mark.parametrize(
    ("first", "code"),
    [
        ("No links found without seeds. That does not mean that nothing is shared.", "no_links_without_seeds"),
        ("No links found, neither from what was given nor without it. Most likely, …", "no_links_from_given"),
        ("Too few rows: the smaller collection has 10, and at least 30 are needed.", "too_few_rows"),
        ("About 933 objects seem to be in both, 48% of the smaller collection.", "said_elsewhere"),
        ("100% of the 15 given pairs come out as links again when left out.", "text"),
    ],
)
def test_sentences_of_files_without_codes_are_read_as_codes_and_told_as_they_were(first: str, code: str) -> None:
    told = {"method": "span", "n_a": 9, "n_b": 9, "n_links": 0, "verdict": NOT_LINKABLE, "reasons": [first]}
    summary = Summary.from_dict(told)
    assert [each.code for each in summary.why] == [code] and summary.reasons == (first,)
    assert summary.is_open == (code in words.UNKNOWN)
    assert Summary.from_dict(json.loads(json.dumps(summary.to_dict()))) == summary


if __name__ == "__main__":
    made = [json.dumps([code, values, words.say(code, **values)], ensure_ascii=False) for code, values, _ in SENTENCES]
    FILE.write_text("[\n " + ",\n ".join(made) + "\n]\n", encoding="utf-8")
