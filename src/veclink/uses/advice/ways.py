"""The ways to change a model, or not, and the choice between them."""

from __future__ import annotations

from dataclasses import dataclass

from veclink.uses.advice.compared import Foretold

WITHIN = 0.005
"""NDCG@10 that a dearer way has to gain. Set before `veclink bench advise` was run, and kept."""
CLEARLY = 1.0
"""Standard errors that a forecast has to gain. As the one above."""

WAYS = {
    "keep": "keep the old model",
    "queries": "translate the queries",
    "documents": "translate the documents",
    "embed": "embed all documents again",
}
"""The ways, the cheapest first."""


@dataclass(frozen=True)
class Way:
    """One way, and what is forecast of it.

    Attributes
    ----------
    name : str
        One of WAYS.
    neighbours : float
        The share of the new model's ten nearest neighbours that it keeps.
    ndcg : float or None
        Of the queries, where there are any. Measured on all documents of A, but for "embed", which is a forecast.
    error : float or None
        The standard error of the difference to "keep".
    """

    name: str
    neighbours: float
    ndcg: float | None = None
    error: float | None = None


def choice(ways: tuple[Way, ...], without_old: bool, foretold: Foretold | None = None) -> tuple[str, str]:
    """The way to take, and why."""
    possible = [way for way in ways if not (without_old and way.name == "keep")]
    if possible[0].ndcg is None:
        if foretold is not None and foretold.old_is_weaker:
            return _by_weakness(ways, foretold)
        return _by_neighbours(possible, without_old)
    first = best = possible[0]
    for way in possible[1:]:
        assert way.ndcg is not None and best.ndcg is not None and way.error is not None
        needed = WITHIN if way.name != "embed" else max(WITHIN, CLEARLY * way.error)
        if way.ndcg > best.ndcg + needed:
            best = way
    told = f"NDCG@10 of the queries is {100 * (best.ndcg or 0):.1f}"
    if best is first:
        return best.name, f"{told}, and no dearer way is clearly better."
    forecast = " by forecast" if best.name == "embed" else ""
    return best.name, f"{told}{forecast}, and {100 * (first.ndcg or 0):.1f} if you {WAYS[first.name]}."


def _by_weakness(ways: tuple[Way, ...], foretold: Foretold) -> tuple[str, str]:
    """Without queries, where the old model is clearly the weaker one."""
    next_best = max(ways[1:3], key=lambda way: way.neighbours)
    return "embed", (
        f"the new model foretells {max(foretold.old_by_new, 0):.0%} of what the old one tells apart, and the old one "
        f"{max(foretold.new_by_old, 0):.0%} of what the new one does: it is the weaker one. If you cannot, "
        f"{WAYS[next_best.name]}; queries and answers would show what each way is worth."
    )


def _by_neighbours(possible: list[Way], without_old: bool) -> tuple[str, str]:
    """Without queries: staying loses nothing; where the old model is gone, the way that keeps most."""
    if not without_old:
        translated = max(possible[1:3], key=lambda way: way.neighbours)
        return "keep", (
            f"translating loses {1 - translated.neighbours:.0%} of the new model's neighbours, and embedding again "
            "pays only if the new model searches better, which links cannot show; give queries and answers to see."
        )
    best = max(possible[:2], key=lambda way: way.neighbours)
    return best.name, f"it keeps {best.neighbours:.0%} of the new model's neighbours; embedding again keeps all."
