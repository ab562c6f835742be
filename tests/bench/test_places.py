"""Where the laboratory looks for vectors: where it is told to, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from veclink_bench.arguments import parser
from veclink_bench.places import DATA_VARIABLE, data_folder


def test_the_folder_given_comes_before_the_one_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "given").mkdir()
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    assert data_folder(tmp_path / "given") == tmp_path / "given"
    assert data_folder(None) == tmp_path
    assert parser("", data=True).parse_args([]).data == tmp_path
