"""The registry of evidence: every kind that probabilities follow from, once.

An entry says how it is computed, whether the model uses it, whether it is a column of links files, and its words for a
person. The model, the decoys, the trace, the columns of links, the explanation of a link, the report with its script,
the review and the reference read it: a new kind of evidence is a new entry at the end of `REGISTRY`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from veclink.backends import CloudPair
from veclink.confidence.candidates import Candidates, ScoredPairs, candidate_pairs
from veclink.confidence.constants import NO_RIVAL_SCORE
from veclink.geometry.arrays import Sides
from veclink.geometry.nearest import local_agreement
from veclink.geometry.signatures import FEW_ANCHORS, JOINED_RULES, JOINED_RULES_OF_FEW

Columns = Mapping[str, np.ndarray]
"""The evidence of links, as in `Links.evidence`: columns of one value for each link."""


@dataclass(frozen=True, eq=False)
class Neighbourhoods:
    """What is near the candidates: (c,) float32 each."""

    agreement: Sides  # correlation and overlap of the links near both rows; 0 where not measured
    densities: Sides  # standardised, of the cloud around the row of A, and of B


@dataclass(frozen=True)
class Evidence:
    """One kind of evidence.

    Attributes
    ----------
    name : str
        In the model, in links files, everywhere.
    label : str
        A few words, said so that a high value speaks for the link.
    against : str or callable
        The part of a sentence that says that it speaks against a link: a text in which `{value}` is filled in, or made
        of the link's columns (one value each) and the names of its rivals.
    help : str
        What it is, for the reference.
    of_pairs : callable, optional
        Scored pairs (m) → (m,): how it is computed from scores. This or `of_neighbourhoods` is given.
    of_neighbourhoods : callable, optional
        `Neighbourhoods` of c candidates → (c,): how it is computed from what is near, on the clouds' own device.
    compares_rivals : bool
        Whether it compares a pair with its rivals. It would count against a true duplicate, whose best rival is as
        right as itself, and is left out where candidates that are not mutual get a probability.
    in_model : bool
        Whether the probabilities follow from it.
    part_of : str, optional
        The entry that it is explained with: what the two change counts as one, in the words of that entry.
    of_columns : callable, optional
        How it follows from other columns of a links file; without it, it is a column itself.
    needed : tuple of str
        Those other columns.
    resolution : float
        The step in which reports keep it, as an int16.
    card : callable or None
        Its text on the card, from what `Links.explain` says of a link; None where a card does not show it.
    """

    name: str
    label: str
    against: str | Callable[[Columns, Mapping[str, str]], str]
    help: str
    of_pairs: Callable[[ScoredPairs], np.ndarray] | None = None
    of_neighbourhoods: Callable[[Neighbourhoods], np.ndarray] | None = None
    compares_rivals: bool = False
    in_model: bool = True
    part_of: str | None = None
    of_columns: Callable[[Columns], np.ndarray] | None = None
    needed: tuple[str, ...] = ()
    resolution: float = 1e-4
    card: Callable[[float, Mapping[str, float]], str] | None = field(default=lambda value, known: f"{value:.2f}")

    def recorded(self, columns: Columns) -> np.ndarray | None:
        """Its values for links with these columns, float64; None where a file lacks what it takes."""
        if self.of_columns is None:
            return columns[self.name].astype(float) if self.name in columns else None
        if not all(name in columns for name in self.needed):
            return None
        return self.of_columns(columns)


def model_evidence() -> tuple[Evidence, ...]:
    """What the probabilities follow from, in the order of the model's weights."""
    return tuple(entry for entry in REGISTRY if entry.in_model)


def score_evidence() -> tuple[Evidence, ...]:
    """What is computed from the scores of a pair and its rivals."""
    return tuple(entry for entry in REGISTRY if entry.of_neighbourhoods is None)


def neighbourhood_evidence() -> tuple[Evidence, ...]:
    """What is computed from the neighbourhoods of a pair, in the order of the columns of `neighbourhood_features`."""
    return tuple(entry for entry in REGISTRY if entry.of_neighbourhoods is not None)


def explained_with(name: str) -> str:
    """The name of the entry that this one is explained with: itself, unless it is a part of another."""
    entry = lookup(name)
    return name if entry is None or entry.part_of is None else entry.part_of


def lookup(name: str) -> Evidence | None:
    """The entry of this name; None where a links file of another version names evidence that this one lacks."""
    return next((entry for entry in REGISTRY if entry.name == name), None)


def neighbourhood_features(
    clouds: CloudPair,
    candidates: Candidates,
    pool: np.ndarray,
    rng: np.random.Generator,
    fitted: np.ndarray | None = None,
) -> np.ndarray:
    """Neighbourhood features of all candidates: (c, f) float32, a column for each entry of `neighbourhood_evidence`.

    fitted: (m,) positions of the mutual candidates that the calibration is fitted to, for which rivals are measured
    too; None measures the rivals of all. What is not measured is 0.
    """
    rows_a, rows_b = candidates.rows_a, candidates.rows_b
    # The last place stands for "no candidate", −1.
    wanted = np.zeros(len(rows_a) + 1, bool)
    rivals_of_a, rivals_of_b = candidates.best_a[:, :2], candidates.best_b[:, :2]
    if fitted is not None:
        wanted[candidates.mutual()] = True
        rivals_of_a, rivals_of_b = rivals_of_a[rows_a[fitted]], rivals_of_b[rows_b[fitted]]
    wanted[rivals_of_a] = True
    wanted[rivals_of_b] = True
    at = np.flatnonzero(wanted[:-1])
    agreement = np.zeros(len(rows_a), np.float32), np.zeros(len(rows_a), np.float32)
    agreement[0][at], agreement[1][at] = local_agreement(clouds.a, clouds.b, pool, rows_a[at], rows_b[at])
    densities = clouds.own_density("a", rng)[rows_a], clouds.own_density("b", rng)[rows_b]
    near = Neighbourhoods(agreement, densities)
    columns = [entry.of_neighbourhoods(near) for entry in REGISTRY if entry.of_neighbourhoods is not None]
    return np.column_stack(columns).astype(np.float32, copy=False)


def feature_matrix(pairs: ScoredPairs, entries: tuple[Evidence, ...] | None = None) -> np.ndarray:
    """Features of pairs (m, f), float64: a column for each of the entries, those of the model where none are given."""
    return np.column_stack([*_values(pairs, entries or model_evidence()).values()]).astype(float)


def evidence_columns(
    entries: tuple[Evidence, ...], candidates: Candidates, neighbourhoods: np.ndarray, positions: np.ndarray
) -> dict[str, np.ndarray]:
    """The columns of a links file that these entries are: (n,) float32 each.

    positions: (n,) of the links among the candidates; NaN where one is −1, a given pair that is no candidate.
    """
    pairs = candidate_pairs(candidates, neighbourhoods, positions)
    values = _values(pairs, tuple(entry for entry in entries if entry.of_columns is None))
    return {name: np.where(positions >= 0, each, np.nan).astype(np.float32) for name, each in values.items()}


def _values(pairs: ScoredPairs, entries: tuple[Evidence, ...]) -> dict[str, np.ndarray]:
    """What each of the entries is for pairs, (m,) by name."""
    names = (entry.name for entry in neighbourhood_evidence())
    near = dict(zip(names, pairs.neighbourhoods.T, strict=True))
    return {entry.name: near[entry.name] if entry.of_pairs is None else entry.of_pairs(pairs) for entry in entries}


def _margins_of_columns(columns: Columns) -> tuple[np.ndarray, np.ndarray]:
    """Lead over the best rival in A, and in B, (n,) float64 each, as the linker counts where there is none."""
    score = columns["score"].astype(float)
    leads = []
    for side in "ab":
        has_rival = columns[f"rival_{side}"] >= 0
        rival_score = columns[f"rival_{side}_score"].astype(float)
        leads.append(score - np.where(has_rival, rival_score, NO_RIVAL_SCORE))
    return leads[0], leads[1]


def _close_rival(columns: Columns, rival_names: Mapping[str, str]) -> str:
    """Names the rival that comes closest, and how close."""
    score, sides = columns["score"], [side for side in "ab" if columns[f"rival_{side}"] >= 0]
    leads = {side: float(score - columns[f"rival_{side}_score"]) for side in sides}
    side = min(leads, key=leads.__getitem__, default="b")
    lead, name = leads.get(side, 0.0), rival_names.get(side)
    which = f"“{name}”" if name else "another one"
    how_close = "higher" if lead < 0 else f"only {lead:.2f} less"
    return f"{which} in {side.upper()} scores {how_close}"


def _score_on_card(value: float, known: Mapping[str, float]) -> str:
    """The score and its lead over the nearer rival."""
    rivals = [known.get(f"rival_{side}_score") for side in "ba"]
    leads = [value - rival for rival in rivals if rival is not None and np.isfinite(rival)]
    lead = f", {min(leads):.2f} ahead of the nearer rival" if leads else ""
    return f"{value:.3g}{lead}"


def _under_one_map(place: int) -> tuple[Evidence, Evidence]:
    """How alike a pair is under one of the joined maps alone, and its lead over the closest rival there."""
    of_many, of_few = (
        f"ridge {rule.ridge:g}, power {rule.power:g}" for rule in (JOINED_RULES[place], JOINED_RULES_OF_FEW[place])
    )
    rules = f"{of_many}; below {FEW_ANCHORS:,} anchors {of_few}"
    score = Evidence(
        name=f"score_map{place + 1}",
        label=f"Alike under map {place + 1} alone",
        against="the two are not much alike under one map alone",
        help=f"the score under one of the joined maps alone ({rules}); 0 where one map was fitted only, as for large "
        "collections",
        of_pairs=lambda pairs: pairs.under_map(place).score,
        part_of="score",
        card=None,
    )
    margin = Evidence(
        name=f"margin_map{place + 1}",
        label=f"Lead under map {place + 1} alone",
        against="a rival comes close under one map alone",
        help=f"the lead over the closest rival under that map alone ({rules})",
        of_pairs=lambda pairs: np.minimum(*pairs.under_map(place).margins()),
        compares_rivals=True,
        part_of="narrow_margin",
        card=None,
    )
    return score, margin


_SCORES, _MARGINS = zip(*map(_under_one_map, range(len(JOINED_RULES))), strict=True)

_MARGIN_COLUMNS = ("score", "rival_a", "rival_b", "rival_a_score", "rival_b_score")

REGISTRY: tuple[Evidence, ...] = (
    Evidence(
        name="score",
        label="How alike the two are",
        against="the two are less alike than most linked ones (score {value:.2f})",
        help="how alike two objects are in the common space, less how alike their neighbourhoods are to everything "
        "(cross-fitted CSLS)",
        of_pairs=lambda pairs: pairs.score,
        card=_score_on_card,
    ),
    Evidence(
        name="narrow_margin",
        label="Lead over the closest rival",
        against=_close_rival,
        help="how far the score is above that of the closest rival on either side",
        of_pairs=lambda pairs: np.minimum(*pairs.margins()),
        compares_rivals=True,
        of_columns=lambda columns: np.minimum(*_margins_of_columns(columns)),
        needed=_MARGIN_COLUMNS,
        card=None,
    ),
    Evidence(
        name="wide_margin",
        label="Lead over the rival on the other side",
        against="its lead is small on the other side as well",
        help="how far the score is above that of the best rival on the other side",
        of_pairs=lambda pairs: np.maximum(*pairs.margins()),
        compares_rivals=True,
        of_columns=lambda columns: np.maximum(*_margins_of_columns(columns)),
        needed=_MARGIN_COLUMNS,
        card=None,
    ),
    Evidence(
        name="local_correlation",
        label="Nearby links lie alike around both",
        against="the links near it lie differently around the two",
        help="how the similarities of one object to the links near it correlate with those of the other",
        of_neighbourhoods=lambda measured: measured.agreement[0],
        card=lambda value, known: f"correlation {value:.2f}",
    ),
    Evidence(
        name="shared_neighbours",
        label="The same links are nearby",
        against="few of the links near the one are also near the other",
        help="the share of the links near the one object that are also near the other",
        of_neighbourhoods=lambda measured: measured.agreement[1],
        card=lambda value, known: f"{100 * value:.0f} %",
    ),
    Evidence(
        name="density_match",
        label="Both lie in equally crowded places",
        against="one of the two lies in a far more crowded place than the other",
        help="how alike the standardised densities of the two clouds around the two objects are, 0 at best",
        of_neighbourhoods=lambda measured: -np.abs(measured.densities[0] - measured.densities[1]),
        resolution=1e-3,
        card=None,
    ),
    Evidence(
        name="density",
        label="How crowded the place is",
        against="what lies around it is unlike what lies around most links",
        help="the sum of those two densities",
        of_neighbourhoods=lambda measured: measured.densities[0] + measured.densities[1],
        resolution=1e-3,
        card=None,
    ),
    # Single maps tell wrong pairs that all of them together like. On the half of `veclink bench real` that things are
    # chosen on, recall at 0.95 rose from 64.3 to 67.1, mean F1 from 85.4 to 85.8 in 41 runs.
    *_SCORES,
    *_MARGINS,
)
