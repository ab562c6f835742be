"""Where the laboratory looks for vectors: where it is told to, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from veclink.errors import InputError
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


def test_without_a_folder_the_error_says_how_to_give_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").mkdir()
    monkeypatch.chdir(tmp_path)  # a folder named data that lies about is not taken
    monkeypatch.delenv(DATA_VARIABLE, raising=False)
    with pytest.raises(InputError, match=r"--data or in \$VECLINK_DATA"):
        data_folder(None)
    with pytest.raises(InputError, match="does not exist"):
        data_folder("nowhere")


def test_an_option_that_names_no_folder_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parser("", data=True).parse_args(["--data", "nowhere"])
    assert ended.value.code == 2 and "nowhere does not exist" in capsys.readouterr().err
