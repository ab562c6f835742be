"""The package does not grow past its ceiling."""

from __future__ import annotations

import json

from house import CEILING, PACKAGE, counts


def test_the_package_stays_under_its_ceiling() -> None:
    ceiling = json.loads(CEILING.read_text(encoding="utf-8"))
    above = {name: (count, ceiling[name]) for name, count in counts(PACKAGE).items() if count > ceiling[name]}
    assert not above, "More than house.json allows (counted, allowed): take out as much as was added"
