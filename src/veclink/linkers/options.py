"""What a method can be told: dataclasses that check themselves.

`link` takes the fields as keywords, or a whole `SpanOptions` or `GehOptions`. Most fields of `SpanOptions` are there to
take one part of the method away and see what it brings; a person needs `one_to_one` alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

import numpy as np

from veclink.errors import InputError, named
from veclink.geometry.signatures import RIDGE
from veclink.linkers.geh import GROWTH, LINKS_PER_CLUSTER, LOCAL_NEIGHBOURS, MAX_ITERATIONS, NEIGHBOURS, SHARE
from veclink.linkers.span import constants as span


@dataclass(frozen=True)
class GrowthSchedule:
    """How fast a pool grows.

    Attributes
    ----------
    rounds : int
        Rounds at most.
    factor : float
        How many times as many links a round may keep as the one before.
    views : int
        Views per round.
    votes : float
        Share of the votes that a pair needs.
    anchors : int
        Links of the pool that a view holds at most.
    held : float
        Share of the pool that a view holds.
    seeds_left_out : float
        Share of the given pairs that a view does without; it then has a vote on those too, and the first round already
        has several views.
    least : int
        Links that the pool may hold in any case, however few it started from.
    settled, settled_factor : float
        The given pairs stand in the views until the pool is this share of the smaller cloud, and this many times as
        large as what was given.
    """

    rounds: int = span.ROUNDS
    factor: float = span.GROWTH_FACTOR
    views: int = span.VIEWS
    votes: float = span.VOTE_SHARE
    anchors: int = span.ANCHORS_PER_VIEW
    held: float = span.HELD_SHARE
    seeds_left_out: float = 0.0
    least: int = span.MIN_POOL_LIMIT
    settled: float = span.SETTLED
    settled_factor: float = span.SETTLED_FACTOR

    def __post_init__(self) -> None:
        for name in ("rounds", "views", "anchors"):
            _check_count(name, getattr(self, name))
        _check_number("factor", self.factor, least=1.0)
        _check_count("least", self.least, least=0)
        for name in ("votes", "held", "seeds_left_out", "settled"):
            _check_number(name, getattr(self, name), least=0.0, most=1.0)
        _check_number("settled_factor", self.settled_factor, least=1.0)


@dataclass(frozen=True)
class SpanOptions:
    """What span linking can be told.

    Attributes
    ----------
    one_to_one : bool
        Whether a row has at most one partner. False reports every likely pair, for data with duplicates.
    k : int
        Neighbours over which csls takes a density.
    ridge : float
        λ of the span signature.
    signature : {"span", "kernel"}
        What views compare rows by: the span signature, or the paper's kernel hash.
    centred : bool
        Whether the mean of a cloud is taken away.
    group_copies : bool
        Whether rows of one side that stand for the same object, exactly or nearly alike, are linked as one. With
        `one_to_one` the links then hold the first row of each group, without it all of them.
    schedule : GrowthSchedule
        How fast the pool grows.
    out_of_bag : bool
        Whether a view has no vote on the pairs that it holds as anchors.
    fallbacks : bool
        Whether other starts are tried where the given one does not converge.
    crossfitted : bool
        Whether candidates are scored by maps that were fitted without them.
    calibrated : bool
        Whether probabilities are estimated; if not, every candidate has 0.5.
    refits : int, optional
        How often the maps are fitted again to all candidates, each by its probability; where None, as often as it pays.
        Not above 12,000 rows on a side, nor where candidates are not cross-fitted and calibrated.
    thresholded : bool
        Whether links end where the expected F1 is largest; if not, all candidates are links.
    """

    one_to_one: bool = True
    k: int = span.NEIGHBOURS
    ridge: float = RIDGE
    signature: Literal["span", "kernel"] = "span"
    centred: bool = True
    group_copies: bool = True
    schedule: GrowthSchedule = field(default_factory=GrowthSchedule)
    out_of_bag: bool = True
    fallbacks: bool = True
    crossfitted: bool = True
    calibrated: bool = True
    refits: int | None = None
    thresholded: bool = True

    def __post_init__(self) -> None:
        for each in fields(self):
            if each.type == "bool":
                _check_flag(each.name, getattr(self, each.name))
        _check_count("k", self.k)
        if self.refits is not None:
            _check_count("refits", self.refits, least=0)
        _check_number("ridge", self.ridge, least=0.0)
        _check_choice("signature", self.signature, ("span", "kernel"))
        if isinstance(self.schedule, Mapping):
            # As links note it down: what was told once can be told again.
            object.__setattr__(self, "schedule", _schedule_of(self.schedule))
        if not isinstance(self.schedule, GrowthSchedule):
            raise InputError(f"The option schedule is {self.schedule!r}; give a GrowthSchedule.")
        if self.signature == "kernel" and self.fallbacks:
            raise InputError("Only the span signature has other starts to fall back on; set fallbacks=False too.")


@dataclass(frozen=True)
class GehOptions:
    """What GEH can be told; the defaults are the paper's, and most of the rest are its ablations.

    Attributes
    ----------
    growth, share : float
        c and ρ0 of the schedule.
    base_views : int, optional
        m0 of the schedule, the views of the first iteration; by default ⌈2/ρ0⌉, as the paper ties it to the share.
    k : int
        Neighbours over which csls takes a density.
    encoding : {"kernel", "raw"}
        The kernel hash, or raw distances.
    view_choice : {"fps", "random"}
        How the links of a view are drawn: furthest-point sampling, or at random.
    seeds_in_views : bool
        Whether every view holds all seeds. False: a view is drawn from all links, seeds among them.
    own_votes : bool
        Whether a view has a vote on the links that it holds as anchors. False: out-of-bag votes, as span counts them.
    centred : bool
        Whether the mean of a cloud is taken away first.
    schedule : {"adaptive", "frozen"}
        Whether views and anchors per view follow the number of links.
    views : {"many", "single"}
        Many views, or one of all links.
    bootstrap : bool
        False: one iteration only.
    path : {"auto", "global", "local"}
        Whether a view looks at all rows (`geh.views`) or at the `neighbours` nearest of each of its anchors
        (`geh.local_views`, the paper's way above 500,000 rows, which "auto" follows; its views ignore `growth`,
        `share`, `view_choice`, `schedule` and `views`).
    neighbours : int
        Rows around each anchor that a local view looks at.
    links_per_view : int
        Links for each cluster of the local path; 0: as many as the larger of the two dimensions, the paper's d_max.
    max_iterations : int
        Iterations at most.
    """

    growth: float = GROWTH
    share: float = SHARE
    base_views: int | None = None
    k: int = NEIGHBOURS
    encoding: Literal["kernel", "raw"] = "kernel"
    view_choice: Literal["fps", "random"] = "fps"
    seeds_in_views: bool = True
    own_votes: bool = True
    centred: bool = False
    schedule: Literal["adaptive", "frozen"] = "adaptive"
    views: Literal["many", "single"] = "many"
    bootstrap: bool = True
    path: Literal["auto", "global", "local"] = "auto"
    neighbours: int = LOCAL_NEIGHBOURS
    links_per_view: int = LINKS_PER_CLUSTER
    max_iterations: int = MAX_ITERATIONS

    def __post_init__(self) -> None:
        _check_number("growth", self.growth, least=0.0)
        _check_number("share", self.share, above=0.0, most=1.0)
        for name in ("k", "neighbours", "max_iterations"):
            _check_count(name, getattr(self, name))
        _check_count("links_per_view", self.links_per_view, least=0)
        if self.base_views is not None:
            _check_count("base_views", self.base_views)
        for name in ("bootstrap", "seeds_in_views", "own_votes", "centred"):
            _check_flag(name, getattr(self, name))
        _check_choice("encoding", self.encoding, ("kernel", "raw"))
        _check_choice("view_choice", self.view_choice, ("fps", "random"))
        _check_choice("schedule", self.schedule, ("adaptive", "frozen"))
        _check_choice("views", self.views, ("many", "single"))
        _check_choice("path", self.path, ("auto", "global", "local"))


Options = SpanOptions | GehOptions
OPTIONS: dict[str, type[Options]] = {"span": SpanOptions, "geh": GehOptions}


def options_of(method: str, given: Options | None, keywords: Mapping[str, Any]) -> Options:
    """The options of a method, from an object or from keywords; a name that it does not know is refused."""
    kind = OPTIONS[method]
    known = [each.name for each in fields(kind)]
    unknown = [name for name in keywords if name not in known]
    if unknown:
        raise InputError(f"Method {method!r} has no option {named(unknown)}; it has {', '.join(map(repr, known))}.")
    if given is None:
        return kind(**keywords)
    if not isinstance(given, kind):
        raise InputError(f"The options of method {method!r} are {kind.__name__}, and not {type(given).__name__}.")
    if keywords:
        raise InputError(f"Options were given as an object and by name ({named(list(keywords))}); use one way.")
    return given


def differing(options: Options) -> dict[str, Any]:
    """Those options that are not as by default, as plain values."""
    default = asdict(type(options)())
    chosen = asdict(options)
    return {name: value for name, value in chosen.items() if value != default[name]}


def _schedule_of(values: Mapping[str, Any]) -> GrowthSchedule:
    known = [each.name for each in fields(GrowthSchedule)]
    unknown = [name for name in values if name not in known]
    if unknown:
        raise InputError(f"A growth schedule has no {named(unknown)}; it has {', '.join(map(repr, known))}.")
    return GrowthSchedule(**values)


def _check_flag(name: str, value: Any) -> None:
    if not isinstance(value, (bool, np.bool_)):
        raise InputError(f"The option {name} is {value!r}; it is True or False.")


def _check_choice(name: str, value: Any, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InputError(f"The option {name} is {value!r}; it is one of {named(known)}.")


def _check_count(name: str, value: Any, least: int = 1) -> None:
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or value < least:
        raise InputError(f"The option {name} is {value!r}; it is a whole number from {least}.")


def _check_number(
    name: str, value: Any, *, least: float | None = None, above: float | None = None, most: float | None = None
) -> None:
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    limits = []
    if least is not None:
        limits.append(f"at least {least:g}")
        number = number and value >= least
    if above is not None:
        limits.append(f"more than {above:g}")
        number = number and value > above
    if most is not None:
        limits.append(f"at most {most:g}")
        number = number and value <= most
    if not number:
        raise InputError(f"The option {name} is {value!r}; it is a number {' and '.join(limits)}.")
