"""Links to look at, and what makes one doubtful in words: the parts of the evidence that lower its odds most."""

from __future__ import annotations

import numpy as np

from veclink.data.links import Links

SURE = 0.9  # probability below which a link is worth a look
TELLING = 0.3  # of the log odds: what lowers them by less is not worth a word
UNLIKE = -1.0  # the score that stands for a rival where there is none, as the linker counts


def typical(links: Links, sure: int, doubtful: int) -> list[tuple[str, int]]:
    """Some "sure" links, some "doubtful" ones, and the pair that came closest to being a link ("left out"), by rank.

    Ranks are among all judged pairs. They are spread evenly over their kind: the best alone would look better than the
    result is.
    """
    source = links if links.considered is None else links.considered
    given = source.evidence.get("given", np.zeros(len(source), bool))
    kept, is_sure = np.arange(len(source)) < len(links), source.probability >= SURE
    return [
        *(("sure", i) for i in _spread(np.flatnonzero(kept & is_sure & ~given), sure)),
        *(("doubtful", i) for i in _spread(np.flatnonzero(kept & ~is_sure & ~given), doubtful)),
        *(("left out", int(i)) for i in np.flatnonzero(~kept & ~given)[:1]),
    ]


def _spread(ranks: np.ndarray, count: int) -> list[int]:
    at = np.unique(((np.arange(count) + 0.5) / max(count, 1) * len(ranks)).astype(int))
    return [int(rank) for rank in ranks[at]] if len(ranks) else []


def against(links: Links, i: int, most: int = 2) -> list[tuple[str, float]]:
    """What speaks against link i: (feature, change of the log odds), the weightiest first; at most so many.

    A change is weight·(feature − centre)/scale of the model of these probabilities (see `trace.traced`): it is measured
    against a pair with average evidence. Empty where the links carry no model, and for given pairs.
    """
    model, evidence = links.trace.get("model"), links.evidence
    if not model or bool(evidence.get("given", np.zeros(len(links), bool))[i]) or "rival_a" not in evidence:
        return []
    score = float(evidence["score"][i])
    leads = [
        score - (float(evidence[f"rival_{side}_score"][i]) if evidence[f"rival_{side}"][i] >= 0 else UNLIKE)
        for side in "ab"
    ]
    values = {"narrow_margin": min(leads), "wide_margin": max(leads)}
    changes = []
    for name, weight, centre, scale in zip(
        *(model[key] for key in ("features", "weights", "centre", "scale")), strict=True
    ):
        value = values[name] if name in values else float(evidence[name][i])
        changes.append((name, weight * (value - centre) / scale))
    low = [(name, change) for name, change in changes if change < -TELLING]
    return sorted(low, key=lambda each: each[1])[:most]


def in_words(links: Links, i: int, rival_a: str = "", rival_b: str = "") -> str:
    """One sentence on what speaks against link i; empty where nothing does. rival_a, rival_b: names of its rivals."""
    said = [_phrase(links, i, name, rival_a, rival_b) for name, _ in against(links, i)]
    text = ", and ".join(said)
    return text[:1].upper() + text[1:] + "." if text else ""


def _phrase(links: Links, i: int, name: str, rival_a: str, rival_b: str) -> str:
    column = links.evidence
    if name == "narrow_margin":
        gaps = {
            side: float(column["score"][i] - column[f"rival_{side}_score"][i])
            for side in "ab"
            if column[f"rival_{side}"][i] >= 0
        }
        side = min(gaps, key=lambda each: gaps[each]) if gaps else "b"
        rival = rival_a if side == "a" else rival_b
        which = f"“{rival}” in {side.upper()}" if rival else f"another one in {side.upper()}"
        lead = gaps.get(side, 0.0)
        return f"{which} scores {'higher' if lead < 0 else f'only {lead:.2f} less'}"
    return {
        "score": f"the two are less alike than most linked ones (score {float(column['score'][i]):.2f})",
        "wide_margin": "its lead is small on the other side as well",
        "local_correlation": "the links near it lie differently around the two",
        "shared_neighbours": "few of the links near the one are also near the other",
        "density_match": "one of the two lies in a far more crowded place than the other",
        "density": "what lies around it is unlike what lies around most links",
    }.get(name, name.replace("_", " "))
