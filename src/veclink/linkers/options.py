"""What a method can be told: dataclasses that check themselves.

`link` takes the fields as keywords, or a whole `SpanOptions` or `GehOptions`. Most fields of `SpanOptions` are there to
take one part of the method away and see what it brings; a person needs `one_to_one` and `trust_seeds` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from veclink.errors import InputError, named
from veclink.geometry.signatures import RIDGE
from veclink.linkers.span import constants as span


@dataclass(frozen=True)
class GrowthSchedule:
    """How fast a pool grows.

    Doubling, six views and random halves are those of the first trials of growing by rank (nfcorpus and scifact, six
    pairs of encoders); those asked for 0.6 of the votes, of views with at most 400 links, and all converged within 8
    rounds. The sensitivity experiment sweeps the views from 2 to 16.
    """

    rounds: int = 14  # at most
    factor: float = 2.0  # how many times as many links a round may keep as the one before
    views: int = 6  # in each round
    votes: float = 0.5  # the share of them that a pair needs
    anchors: int = 256  # links of the pool that a view holds at most
    held: float = 0.5  # share of the pool that a view holds: the other half of the views can vote on a link
    seeds_left_out: float = 0.0  # share of the given pairs that a view does without, and then has a vote on
    least: int = 60  # links that the pool may hold in any case, however few it started from
    # The given pairs stand in the views until the pool is this share of the smaller cloud, and this many times as large
    # as what was given.
    settled: float = 0.2
    settled_factor: float = 2.0

    def __post_init__(self) -> None:
        for name in ("rounds", "views", "anchors"):
            _check_count(name, getattr(self, name))
        _check_count("least", self.least, least=0)
        for name in ("votes", "held", "seeds_left_out", "settled"):
            _check_number(name, getattr(self, name), most=1.0)
        for name in ("factor", "settled_factor"):
            _check_number(name, getattr(self, name), least=1.0)


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
    trust_seeds : bool
        Whether all given pairs are used. By default those that look wrong are named and left out.
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
    trust_seeds: bool = False
    fallbacks: bool = True
    crossfitted: bool = True
    calibrated: bool = True
    refits: int | None = None
    thresholded: bool = True

    def __post_init__(self) -> None:
        _check_types(self)
        _check_count("k", self.k)
        if self.refits is not None:
            _check_count("refits", self.refits, least=0)
        _check_number("ridge", self.ridge)
        if isinstance(self.schedule, Mapping):
            # As links note it down: what was told once can be told again.
            _check_known("A growth schedule", GrowthSchedule, self.schedule)
            object.__setattr__(self, "schedule", GrowthSchedule(**self.schedule))
        if not isinstance(self.schedule, GrowthSchedule):
            raise InputError(f"The option schedule is {self.schedule!r}; give a GrowthSchedule.")
        if self.signature == "kernel" and self.fallbacks:
            raise InputError("Only the span signature has other starts to fall back on; set fallbacks=False too.")


@dataclass(frozen=True)
class GehOptions:
    """Options of GEH. The defaults are GEH as shipped; `paper()` is GEH, strict: the paper's text to the letter.

    Attributes
    ----------
    growth, share : float
        c and ρ0 of the schedule.
    base_views : int, optional
        m0 of the schedule, the views of the first iteration; by default ⌈2/ρ0⌉, as the paper ties it to the share.
    k : int
        Neighbours over which csls takes a density.
    encoding : {"kernel", "raw"} or function
        The kernel hash, raw distances, or a function of distances (n, s) and the width σ that gives signatures (n, s).
    width_rows : int
        Rows behind the width σ of the kernel, evenly spaced by their mean distance to the anchors.
    view_choice : {"fps", "random"}
        How the links of a view are drawn: furthest-point sampling, or at random.
    view_side : {"turns", "a", "b"}
        On which side distances between links are measured for it: the sides take turns, or always one.
    seeds_in_views : bool, optional
        Whether every view holds all seeds, seeds being drawn like other links where not. By default global ones do, and
        local ones do not.
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
        (`geh.views.LocalPath`, the paper's way above 500,000 rows, which "auto" follows; its views ignore `growth`,
        `share`, `view_choice`, `view_side`, `schedule` and `views`).
    neighbours : int
        Rows around each anchor that a local view looks at.
    links_per_view : int
        Links for each cluster of the local path; 0: as many as the larger of the two dimensions, the paper's d_max.
    max_iterations : int
        Iterations at most.
    """

    # growth, share, k and max_iterations: the paper's; width_rows: origin not recorded
    growth: float = 0.3
    share: float = 0.4
    base_views: int | None = None
    k: int = 50
    encoding: Literal["kernel", "raw"] | Callable[[Any, float], Any] = "kernel"
    width_rows: int = 500
    view_choice: Literal["fps", "random"] = "fps"
    view_side: Literal["turns", "a", "b"] = "turns"
    seeds_in_views: bool | None = None
    own_votes: bool = True
    centred: bool = False
    schedule: Literal["adaptive", "frozen"] = "adaptive"
    views: Literal["many", "single"] = "many"
    bootstrap: bool = True
    path: Literal["auto", "global", "local"] = "auto"
    # chosen on nfcorpus and scifact, minilm–mpnet, α = 0.3, 15 seeds, states 0 and 1 (geh_local.json of bench/results)
    neighbours: int = 100
    links_per_view: int = 128
    max_iterations: int = 100

    def __post_init__(self) -> None:
        _check_types(self)
        _check_number("growth", self.growth)
        _check_number("share", self.share, most=1.0, above=True)
        for name in ("k", "width_rows", "neighbours", "max_iterations"):
            _check_count(name, getattr(self, name))
        _check_count("links_per_view", self.links_per_view, least=0)
        if self.base_views is not None:
            _check_count("base_views", self.base_views)
        if not callable(self.encoding):
            _check_choice("encoding", self.encoding, ("kernel", "raw"))

    @classmethod
    def paper(cls) -> GehOptions:
        """The paper's text read strictly, where the defaults settle it otherwise; `replace` switches one back.

        Views are drawn on side A alone, clusters hold d_max links, local views hold all seeds, and σ is the median over
        all rows of a view (5,000 of them, where there are more).
        """
        return cls(view_side="a", links_per_view=0, seeds_in_views=True, width_rows=5_000)


Options = SpanOptions | GehOptions
OPTIONS: dict[str, type[Options]] = {"span": SpanOptions, "geh": GehOptions}


def options_of(method: str, given: Options | None, keywords: Mapping[str, Any]) -> Options:
    """The options of a method, from an object or from keywords; a name that it does not know is refused."""
    kind = OPTIONS[method]
    _check_known(f"Method {method!r}", kind, keywords)
    if given is None:
        return kind(**keywords)
    if not isinstance(given, kind):
        raise InputError(f"The options of method {method!r} are {kind.__name__}, and not {type(given).__name__}.")
    if keywords:
        raise InputError(f"Options were given as an object and by name ({named(list(keywords))}); use one way.")
    return given


def differing(options: Options) -> dict[str, Any]:
    """Those options that are not as by default, as plain values."""
    default = type(options)()
    return plain({name: value for name, value in vars(options).items() if value != getattr(default, name)})


def plain(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as plain values: a function by its name."""
    return {
        name: asdict(value) if isinstance(value, GrowthSchedule) else getattr(value, "__name__", value)
        for name, value in options.items()
    }


def _check_known(owner: str, kind: type[Options] | type[GrowthSchedule], given: Mapping[str, Any]) -> None:
    known = [each.name for each in fields(kind)]
    unknown = [name for name in given if name not in known]
    if "precision" in unknown:
        raise InputError("A precision is asked of links that are there: link(…).at(precision=0.95).")
    if unknown:
        raise InputError(f"{owner} has no option {named(unknown)}; it has {', '.join(map(repr, known))}.")


def _check_types(options: Options) -> None:
    """Flags and choices, by how the fields are declared."""
    for name, kind in get_type_hints(type(options)).items():
        value = getattr(options, name)
        if bool in (kind, *get_args(kind)) and not isinstance(value, (bool, np.bool_, *get_args(kind)[1:])):
            raise InputError(f"The option {name} is {value!r}; it is True or False.")
        if get_origin(kind) is Literal:
            _check_choice(name, value, get_args(kind))


def _check_choice(name: str, value: Any, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InputError(f"The option {name} is {value!r}; it is one of {named(known)}.")


def _check_count(name: str, value: Any, least: int = 1) -> None:
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or value < least:
        raise InputError(f"The option {name} is {value!r}; it is a whole number from {least}.")


def _check_number(name: str, value: Any, least: float = 0.0, most: float = np.inf, *, above: bool = False) -> None:
    """above: more than the least is asked for."""
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not number or not least <= value <= most or (above and value == least):
        lower, upper = "more than" if above else "at least", f" and at most {most:g}" if most < np.inf else ""
        raise InputError(f"The option {name} is {value!r}; it is a number {lower} {least:g}{upper}.")
