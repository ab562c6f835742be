"""Titles cut into texts: which there are, that none is there twice, and what the encoders are given of them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

from veclink_bench.speed.cut_titles import (
    CLS,
    MIN_TOKENS,
    PAD,
    SEP,
    Texts,
    cut_titles,
    distinct,
    draw,
    first_objects,
    objects_for,
    padded,
    read_titles,
)
from veclink_bench.splits import split


def titles_of(*titles: list[int]) -> Texts:
    lengths = np.array([len(title) for title in titles])
    return Texts(np.concatenate(titles).astype(np.uint16), np.cumsum(lengths) - lengths, lengths)


def written(texts: Texts) -> list[tuple[int, ...]]:
    places = zip(texts.starts, texts.lengths, strict=True)
    return [tuple(texts.tokens[start : start + length].tolist()) for start, length in places]


def test_a_title_gives_its_whole_and_three_halves_of_four_tokens_or_more() -> None:
    eight, nine = list(range(10, 18)), list(range(20, 29))
    texts = cut_titles(titles_of(eight, [1, 2, 3], nine, [], [4, 5, 6, 7, 8, 9, 10]))
    assert written(texts) == [
        tuple(eight),
        tuple(nine),
        (4, 5, 6, 7, 8, 9, 10),
        (10, 11, 12, 13),
        (20, 21, 22, 23),
        (14, 15, 16, 17),
        (24, 25, 26, 27, 28),
        (7, 8, 9, 10),
        (12, 13, 14, 15),
        (22, 23, 24, 25),
        (5, 6, 7, 8),
    ]


def test_of_equal_texts_at_different_places_the_first_is_kept() -> None:
    texts = cut_titles(titles_of([7, 7, 7, 7, 7, 7, 7, 7], [1, 2, 3, 4], [5, 6, 7, 8, 1, 2, 3, 4], [4, 3, 2, 1]))
    kept = distinct(texts)
    assert written(texts.take(kept)) == list(dict.fromkeys(written(texts)))
    assert written(texts.take(kept)).count((1, 2, 3, 4)) == 1 and (4, 3, 2, 1) in written(texts.take(kept))


@pytest.mark.parametrize("vocabulary", [1, 2, 3, 30_000])
def test_no_text_is_lost_to_another_and_none_is_there_twice(vocabulary: int) -> None:
    rng = np.random.default_rng(vocabulary)
    titles = [rng.integers(vocabulary, size=size).tolist() for size in rng.integers(49, size=3000)]
    texts = cut_titles(titles_of(*titles, *titles[:200]))
    kept = distinct(texts)
    assert written(texts.take(kept)) == list(dict.fromkeys(written(texts)))
    assert all(before < after for before, after in pairwise(kept)) and texts.lengths.min() == MIN_TOKENS


def test_the_first_titles_of_a_file_are_read_and_an_empty_one_among_them(tmp_path: Path) -> None:
    tokens = np.arange(100, 112, dtype=np.uint16)
    np.savez(tmp_path / "titles.npz", tokens=tokens, lengths=np.array([5, 0, 4, 3], np.uint8))
    first = read_titles(tmp_path / "titles.npz", 3)
    assert written(first) == [(100, 101, 102, 103, 104), (), (105, 106, 107, 108)]
    assert len(first.tokens) == 9 and len(read_titles(tmp_path / "titles.npz")) == 4


def test_so_many_texts_are_drawn_that_each_side_holds_the_rows_asked_for() -> None:
    texts = Texts(np.arange(4003), np.arange(4000), np.full(4000, 4))
    drawn = draw(texts, 1300)
    cut = split(len(drawn), 0.3, np.random.default_rng(0))
    assert len(cut.rows_a) == len(cut.rows_b) == 1300 and len(set(written(drawn))) == objects_for(1300) == 2000
    assert len(draw(texts, 1_000_000)) == 4000


def test_a_part_of_two_sides_holds_the_same_objects_and_their_true_pairs() -> None:
    cut = split(1000, 0.3, np.random.default_rng(1))
    vectors = np.arange(1000)[:, None]
    a, b, part = first_objects(vectors[cut.rows_a], vectors[cut.rows_b], cut, 400)
    assert set(a[:, 0]) | set(b[:, 0]) == set(range(400))
    assert np.array_equal(a[:, 0], part.rows_a) and np.array_equal(b[:, 0], part.rows_b)
    assert np.array_equal(a[part.truth[:, 0]], b[part.truth[:, 1]])
    assert len(part.truth) == len(set(a[:, 0]) & set(b[:, 0])) > 80


def test_an_encoder_is_given_the_marks_the_prefix_and_the_text_and_sees_no_padding() -> None:
    texts = titles_of([5, 6, 7, 8, 9], [1, 2, 3, 4])
    ids, mask = padded(torch.from_numpy(texts.tokens.astype(np.int64)), texts, (90, 91))
    assert ids.tolist() == [[CLS, 90, 91, 5, 6, 7, 8, 9, SEP], [CLS, 90, 91, 1, 2, 3, 4, SEP, PAD]]
    assert mask.tolist() == [[True] * 9, [True] * 8 + [False]]
