"""What somebody with the texts of two catalogues would use: splink, without known pairs.

    python -m venv splink && splink/bin/pip install splink==5.0.0 numpy
    splink/bin/python bench/splink_catalogues.py DIR > bench/results/experiments/catalogues-splink.json

DIR holds NAME.a.txt, NAME.b.txt (a text a line) and NAME.truth.npy. Texts are compared by the share of their words that
both have, and by how many words with a digit both have (model numbers, years). Texts that share no word which at most
COMMON texts have are not compared. u is estimated by random sampling, m by
expectation–maximisation, with one true pair for each object of the larger side. Links are one to one, the most probable
first, from a probability of 0.5 on; `f1_best` is that of the best threshold, which nobody knows.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from splink import DuckDBAPI, Linker, SettingsCreator, block_on
from splink.comparison_library import CustomComparison

SHARES = (0.8, 0.6, 0.45, 0.3, 0.2)  # of the words of both texts that both have; a level each
COUNTS = (2, 1)  # words with a digit that both have
COMMON = 100
LEAST_PROBABILITY = 0.5
SIDE_B = 1_000_000  # added to rows of B, so that no two rows have the same id


def main() -> None:
    """Measure both catalogues, and print the figures as JSON."""
    found = {name: measured(Path(sys.argv[1]), name) for name in ("abt-buy", "dblp-acm")}
    settings = {"shares of words": SHARES, "words with a digit": COUNTS, "from probability": LEAST_PROBABILITY}
    print(json.dumps({"splink": version("splink"), "settings": settings, "catalogues": found}, indent=1))


def measured(folder: Path, name: str) -> dict[str, float]:
    """Scores of the links of two catalogues."""
    sides = [(folder / f"{name}.{side}.txt").read_text(encoding="utf-8").splitlines() for side in "ab"]
    truth = {(int(a), int(b)) for a, b in np.load(folder / f"{name}.truth.npy")}
    api = DuckDBAPI()
    seen = Counter(word for texts in sides for text in texts for word in words_of(text))
    tables = [api.register(table(texts, first, seen)) for texts, first in zip(sides, (0, SIDE_B), strict=True)]
    linker = Linker(tables, settings_for(max(map(len, sides))))
    linker.training.estimate_u_using_random_sampling(max_pairs=5e5, seed=0)
    linker.training.estimate_parameters_using_expectation_maximisation(
        "1=1", max_pairs=1e6, record_sample_proportion=1.0, fix_probability_two_random_records_match=True
    )
    predicted = linker.inference.predict(threshold_match_probability=0.01).as_record_list()
    links = one_to_one(sorted(predicted, key=lambda each: -each["match_weight"]))
    right = np.cumsum([pair in truth for pair, _ in links])
    f1 = 2 * right / (np.arange(1, len(links) + 1) + len(truth))
    kept = sum(probability >= LEAST_PROBABILITY for _, probability in links)
    scores = {"precision": right[kept - 1] / kept, "recall": right[kept - 1] / len(truth), "f1": f1[kept - 1]}
    return {**{key: round(100 * float(value), 2) for key, value in scores.items()}, "links": kept,
            "f1_best": round(100 * float(f1.max()), 2)}  # fmt: skip


def one_to_one(ranked: list[dict[str, Any]]) -> list[tuple[tuple[int, int], float]]:
    """Pairs of rows with their probability, each row once, the most probable first."""
    kept, taken = [], set[int]()
    for each in ranked:
        a, b = sorted((each["unique_id_l"], each["unique_id_r"]))
        if not {a, b} & taken:
            taken |= {a, b}
            kept.append(((a, b - SIDE_B), each["match_probability"]))
    return kept


def words_of(text: str) -> list[str]:
    """The distinct words of a text."""
    return sorted(set(re.findall(r"[a-z0-9]+", text.lower())))


def table(texts: list[str], first: int, seen: Counter[str]) -> pa.Table:
    """A line for each text: its words, those that hold a digit, and those that few texts have (`seen`: how many)."""
    words = [words_of(text) for text in texts]
    codes = [[word for word in each if re.search(r"\d", word)] for each in words]
    rare = [[word for word in each if seen[word] <= COMMON] for each in words]
    return pa.table({"unique_id": range(first, first + len(texts)), "words": words, "codes": codes, "rare": rare})


def settings_for(objects: int) -> SettingsCreator:
    """Two comparisons, of all words and of those with a digit."""
    share = "len(list_intersect(words_l, words_r)) / len(list_distinct(list_concat(words_l, words_r)))"
    no_words = {"sql_condition": "len(words_l) = 0 OR len(words_r) = 0", "is_null_level": True}
    no_codes = {"sql_condition": "len(codes_l) = 0 OR len(codes_r) = 0", "is_null_level": True}
    words = [{"sql_condition": f"{share} >= {each}"} for each in SHARES]
    codes = [{"sql_condition": f"len(list_intersect(codes_l, codes_r)) >= {each}"} for each in COUNTS]
    other = {"sql_condition": "ELSE"}
    return SettingsCreator(
        link_type="link_only",
        probability_two_random_records_match=1 / objects,
        blocking_rules_to_generate_predictions=[block_on("rare", arrays_to_explode=["rare"])],
        comparisons=[
            CustomComparison(output_column_name="words", comparison_levels=[no_words, *words, other]),
            CustomComparison(output_column_name="codes", comparison_levels=[no_codes, *codes, other]),
        ],
    )


if __name__ == "__main__":
    main()
