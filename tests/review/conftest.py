"""The reviewed papers, made once for all tests of the review."""

from __future__ import annotations

import pytest

from reviewed_papers import Reviewed, make_reviewed


@pytest.fixture(scope="session")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Reviewed:
    return make_reviewed(tmp_path_factory.mktemp("reviewed"))
