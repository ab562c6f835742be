"""Some clients review at once while the server is killed: a small one of what `make faults` does."""

from __future__ import annotations

from pathlib import Path

from faults.review_load import run


def test_no_answer_is_lost_or_counted_twice_when_the_server_is_killed(tmp_path: Path) -> None:
    told = run(tmp_path, clients=6, answers=80, kills=2)
    assert told["counted"] >= 80 and told["lost"] == told["double"] == 0
    assert told["counted"] <= told["in_the_journal"] <= told["counted"] + told["cut_off"]
