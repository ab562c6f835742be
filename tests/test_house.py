"""The package does not grow past its ceiling."""

from __future__ import annotations

import json
from pathlib import Path

from house import CEILING, PACKAGE, counts


def test_the_package_stays_under_its_ceiling() -> None:
    ceiling = json.loads(CEILING.read_text(encoding="utf-8"))
    above = {name: (count, ceiling[name]) for name, count in counts(PACKAGE).items() if count > ceiling[name]}
    assert not above, "More than house.json allows (counted, allowed): take out as much as was added"


def test_comments_docstrings_and_line_breaks_do_not_count(tmp_path: Path) -> None:
    package = tmp_path / "toy"
    (package / "linkers").mkdir(parents=True)
    (package / "one.py").write_text(
        '"""A docstring of many words."""\nfrom toy.linkers import two\nA = (1, -2)  # why\n'
    )
    (package / "linkers/two.py").write_text(
        'LIMIT: int = 3\n\ndef f():\n    """So."""\n    return "a text of five words"\n'
    )
    assert counts(package) == {
        "tokens": 6 + 8 + 5 + 7,
        "modules": 2,
        "single_use_modules": 1,
        "constants": 2,
        "deciding_constants": 1,
        "sentences": 1,
    }
