"""GEH, the paper's linker; here, the numbers that decide what it finds and are no option (`GehOptions` has those)."""

from __future__ import annotations

from typing import Final

# The paper's stopping rule: after a burn-in of so many iterations (10), the points of both sides in proposed pairs, as
# a share of the larger cloud, moved by less than this (0.01) in each of so many last iterations (10).
STEADY: Final = (0.01, 10, 10)

# Rows of the larger cloud above which the local path is taken: the paper's.
LOCAL_ABOVE: Final = 500_000

# Mean vote shares seen on real pairs: 0.62 to 0.89 where GEH linked, 0.24 to 0.45 where 4 of 5 links were wrong.
AGREED: Final = 0.6
DISPUTED: Final = 0.5
