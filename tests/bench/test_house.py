"""The source in figures."""

from __future__ import annotations

from pathlib import Path

from veclink_bench.house import figures


def test_docstrings_and_comments_are_no_code(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text('"""A docstring."""\n\n# a comment\na = 1\nb = a + 2  # another\n')
    (tmp_path / "linkers").mkdir()
    (tmp_path / "linkers/two.py").write_text('def f():\n    """Another."""\n    return "text"\n')
    found = figures(tmp_path)
    assert (found["top_level_modules"], found["lines"]) == (1, 8)
    assert found["tokens_per_line"] == (3 + 5 + 5 + 2) / 4
    assert found["tokens_per_line_of_linkers_and_confidence"] == (5 + 2) / 2
