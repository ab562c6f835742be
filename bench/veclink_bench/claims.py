"""Sentences of the pages that say "all", "none" or "within", each as a check against the results.

A page puts such a sentence between `<!-- claim NAME -->` and `<!-- /claim -->`; `veclink bench check` fails where the
check of that name does not hold.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from veclink_bench.clustering_figures import CLUSTERING_CLAIMS, CLUSTERING_FIGURES
from veclink_bench.experiments.strategies import GEH
from veclink_bench.experiments.tables import grouped, values
from veclink_bench.merge_sure_figures import merge_sure_figures
from veclink_bench.merging_figures import MERGING_CLAIMS, MERGING_FIGURES
from veclink_bench.real_figures import REAL_FIGURES, no_right_seed_is_named, nothing_shared_is_not_linkable
from veclink_bench.table_figures import (
    CONVERGED,
    TABLE_FIGURES,
    CellsOf,
    best_geh,
    chosen,
    least_and_most,
    means_of,
    stable_settings,
)

Claim = Callable[[CellsOf], bool]


def span_leads_geh_tuned(cells_of: CellsOf) -> bool:
    """GEH at its best: on every pair that its settings are reported on, in the main table and in the grid."""
    of = means_of(cells_of("main"), "method", "pair")
    tuned = means_of(chosen(cells_of("tuning"), purpose="report", variant="tuned"), "pair")
    in_grid = means_of(cells_of("grid"), "method", "pair", "overlap", "seeds")
    return (
        bool(tuned)
        and all(of[("span", *place)] > mean for place, mean in [*tuned.items(), *best_geh(of).items()])
        and all(in_grid[("span", *place)] > mean for place, mean in best_geh(in_grid).items())
    )


def ao_tuned_is_the_best_baseline(cells_of: CellsOf) -> bool:
    """By its mean over all pairs, among the paper's baselines."""
    names = ("linear", "cca", "mlp", "rcsls", "procrustes", "ugw", "ao")
    known = [f"{name}{ending}" for name in names for ending in ("", " tuned")]
    means = {method: v for (method,), v in means_of(cells_of("main"), "method").items() if method in known}
    return max(means, key=lambda method: means[method]) == "ao tuned"


def encoding_is_no_help(cells_of: CellsOf) -> bool:
    """The kernel is no better than raw distances, by mean, at either overlap."""
    means = means_of(cells_of("factorial"), "overlap", "encoding")
    return all(means[overlap, "kernel"] <= means[overlap, "raw"] for overlap in (0.15, 0.3))


def out_of_bag_always_gains(cells_of: CellsOf) -> bool:
    """Whatever the views and the encoding, at both overlaps, by mean over the corpora."""
    means = means_of(cells_of("factorial"), "overlap", "views", "encoding", "votes")
    return all(v > means[(*place[:-1], "own")] for place, v in means.items() if place[-1] == "out-of-bag")


def random_beats_fps(cells_of: CellsOf) -> bool:
    """With the seeds in every view and from all links, whatever the encoding and the votes."""
    means = means_of(cells_of("factorial"), "overlap", "views", "encoding", "votes")
    return all(
        v > means[(place[0], place[1].replace("random", "fps"), *place[2:])]
        for place, v in means.items()
        if place[1].startswith("random")
    )


def seeds_in_views_always_help(cells_of: CellsOf) -> bool:
    """Views that hold all seeds are better than those drawn from all links."""
    means = means_of(cells_of("factorial"), "overlap", "views", "encoding", "votes")
    return all(
        v < means[(place[0], place[1].removesuffix(" from L"), *place[2:])]
        for place, v in means.items()
        if place[1].endswith("from L")
    )


def tuned_geh_is_the_best_geh(cells_of: CellsOf) -> bool:
    """At every overlap of the strategies, above all four combinations of views and encoding, by mean."""
    of = means_of(cells_of("strategies"), "overlap", "method")
    return all(mean <= of[overlap, "geh tuned"] for (overlap, method), mean in of.items() if method in GEH)


def _lead_over_geh_tuned(cells_of: CellsOf) -> np.ndarray:
    """Points by which span leads GEH at its best, at every overlap of the strategies."""
    of = means_of(cells_of("strategies"), "method", "overlap")
    geh = best_geh(of)
    return np.array([mean - geh[tuple(place)] for (method, *place), mean in of.items() if method == "span"])


def lead_grows_as_less_is_shared(cells_of: CellsOf) -> bool:
    """Span's lead over GEH at its best: the smaller the overlap, the larger."""
    return bool((np.diff(_lead_over_geh_tuned(cells_of)) < 0).all())


def signature_and_views_bring_less_than_a_point(cells_of: CellsOf) -> bool:
    """On the easy pair: without the signature, several views, centring or out-of-bag votes span loses less than one."""
    easy = chosen(cells_of("ablation"), pair=["nfcorpus", "minilm", "mpnet"], method="span")
    of = means_of(easy, "variant")
    return all(
        of[("full",)] - of[(variant,)] < 1 for variant in ("kernel hash", "single view", "not centred", "own votes")
    )


def hard_pair_needs_centring(cells_of: CellsOf) -> bool:
    """On the hard pair span finds nothing uncentred."""
    hard = chosen(cells_of("ablation"), pair=["nfcorpus", "mpnet", "e5"], method="span", variant="not centred")
    return bool(hard) and not np.any(values(hard))


def together_is_better_everywhere(cells_of: CellsOf) -> bool:
    """Three collections at once against each two alone, on every corpus."""
    return all(mean > 0 for mean in means_of(cells_of("many"), "collections", measure="gain").values())


def rebuild_is_within_a_point(cells_of: CellsOf) -> bool:
    """Span linking written again from its page, beside veclink from the same seeds: every draw, before and after."""
    of = grouped(cells_of("rebuild"), "page", "draw")
    gaps = [abs(np.subtract(*(cell["f1"] for cell in pair))) for pair in of.values()]
    return {page for page, _ in of} == {"first", "mended"} and max(gaps) <= 1


def _conditioning(cells_of: CellsOf, measure: str) -> np.ndarray:
    """A measure of random views over that of furthest-point ones, of every corpus and number of anchors, (c, a)."""
    of = means_of(cells_of("conditioning"), "pair", "views", "anchors", measure=measure)
    ratios: dict[str, list[float]] = {}
    for (pair, views, anchors), value in of.items():
        if views == "fps":
            ratios.setdefault(pair, []).append(of[pair, "random", anchors] / value)
    return np.array(list(ratios.values()))


def fps_is_better_conditioned(cells_of: CellsOf) -> bool:
    """Furthest-point views of true links, on every corpus and with every number of anchors."""
    return bool((_conditioning(cells_of, "condition") > 1).all())


def fps_senses_no_more_with_few_anchors(cells_of: CellsOf) -> bool:
    """With 15 and 30 anchors their least singular value is lower than that of random views, on every corpus."""
    return bool((_conditioning(cells_of, "least")[:, :2] > 1).all())


CLAIMS: dict[str, Claim] = {
    check.__name__.replace("_", "-"): check
    for check in (
        span_leads_geh_tuned,
        ao_tuned_is_the_best_baseline,
        encoding_is_no_help,
        out_of_bag_always_gains,
        random_beats_fps,
        seeds_in_views_always_help,
        hard_pair_needs_centring,
        tuned_geh_is_the_best_geh,
        lead_grows_as_less_is_shared,
        signature_and_views_bring_less_than_a_point,
        together_is_better_everywhere,
        rebuild_is_within_a_point,
        fps_is_better_conditioned,
        fps_senses_no_more_with_few_anchors,
        nothing_shared_is_not_linkable,
        no_right_seed_is_named,
        *MERGING_CLAIMS,
        *CLUSTERING_CLAIMS,
    )
}


def _gaps_of_the_oracle(cells_of: CellsOf) -> np.ndarray:
    """Points by which span leads tuned self-learning with an oracle's threshold, where the latter converges."""
    span = means_of(chosen(cells_of("main"), method="span"), "pair")
    other = means_of(chosen(cells_of("main"), method="self-learning tuned"), "pair", measure="f1_oracle")
    return np.array([span[pair] - mean for pair, mean in other.items() if mean > CONVERGED + 5])


def _gaps_of_centroids(cells_of: CellsOf) -> np.ndarray:
    """Points by which tuned self-learning leads centroids on scifact, in the grid."""
    scifact = chosen(cells_of("grid"), pair=["scifact", "minilm", "mpnet"])
    means = means_of(scifact, "method", "overlap", "seeds")
    return np.array(
        [means[("self-learning tuned", *place[1:])] - v for place, v in means.items() if place[0] == "centroids"]
    )


def _gaps_outside(cells_of: CellsOf) -> np.ndarray:
    """Points by which span leads tuned self-learning from anchors of other corpora, where the latter converges."""
    means = means_of(chosen(cells_of("outside"), seeds=30), "method", "pair", "outside")
    found = []
    for (method, *place), mean in means.items():
        if method == "self-learning tuned" and mean > CONVERGED:
            found.append(means[("span", *place)] - mean)
    return np.array(found)


def _neighbours_shared(cells_of: CellsOf, k: int, glove: bool) -> np.ndarray:
    """Mean Jaccard index of the k nearest neighbours of every pair, with GloVe or without; movies left out."""
    known = [cell for cell in cells_of("jaccard") if cell["pair"][0] != "movies"]
    kept = [cell for cell in known if ("glove" in cell["pair"]) == glove]
    return np.array([np.mean([cell["jaccard"][k - 1] for cell in group]) for group in grouped(kept, "pair").values()])


FIGURES: dict[str, Callable[[CellsOf], float]] = {
    **REAL_FIGURES,
    **merge_sure_figures(),
    **TABLE_FIGURES,
    **MERGING_FIGURES,
    **CLUSTERING_FIGURES,
    **least_and_most(
        {
            "strategies-lead": _lead_over_geh_tuned,
            **{f"geh-stable-{name}": partial(stable_settings, setting=name) for name in ("growth", "k", "share")},
            "conditioning-gain": partial(_conditioning, measure="condition"),
            "oracle-gap": _gaps_of_the_oracle,
            "centroids-gap": _gaps_of_centroids,
            "outside-gap": _gaps_outside,
            "neighbours": partial(_neighbours_shared, k=10, glove=False),
            "neighbours-glove": partial(_neighbours_shared, k=10, glove=True),
        }
    ),
}
