"""How the results of span linking's long stages are kept in a checkpoint: as arrays and plain values."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from veclink.confidence.candidates import Candidates
from veclink.linkers.checkpoint import Packed
from veclink.linkers.span.growing import Pool
from veclink.linkers.span.results import Grown, Matched
from veclink.linkers.span.starts import Bootstrap


def pack_grown(grown: Grown) -> Packed:
    """What has to be kept of a pool."""
    bootstrap, pool = grown.bootstrap, grown.bootstrap.pool
    arrays = {
        "pairs": pool.pairs,
        "share": pool.share,
        "score": pool.score,
        "outlier_seeds": bootstrap.outlier_seeds,
        "links": grown.links,
        "given": grown.given,
    }
    if bootstrap.means is not None:
        arrays["mean_a"], arrays["mean_b"] = bootstrap.means
    plain = {
        "agreed": int(pool.agreed),
        "views": int(pool.views),
        "extent": int(pool.extent),
        "history": [[int(size), int(agreed)] for size, agreed in pool.history],
        "started_from": bootstrap.started_from,
        "agreed_share": float(bootstrap.share),
        "mark": float(bootstrap.mark),
        "anchored": bootstrap.anchored,
        "tried": [[name, float(share)] for name, share in bootstrap.tried],
    }
    return arrays, plain


def unpack_grown(_: Any, packed: Packed) -> Grown:
    """The pool that was kept."""
    arrays, plain = packed
    pool = Pool(
        arrays["pairs"],
        arrays["share"],
        arrays["score"],
        agreed=plain["agreed"],
        views=plain["views"],
        extent=plain["extent"],
        history=tuple((size, agreed) for size, agreed in plain["history"]),
    )
    bootstrap = Bootstrap(
        pool,
        plain["started_from"],
        plain["agreed_share"],
        arrays["outlier_seeds"],
        plain["mark"],
        tuple((name, share) for name, share in plain["tried"]),
        means=(arrays["mean_a"], arrays["mean_b"]) if "mean_a" in arrays else None,
        anchored=bool(plain["anchored"]),
    )
    return Grown(bootstrap, arrays["links"], arrays["given"])


def pack_matched(matched: Matched) -> Packed:
    """What has to be kept of the candidates."""
    candidates = matched.candidates
    arrays = {each.name: getattr(candidates, each.name) for each in fields(candidates)}
    return arrays, []


def unpack_matched(grown: Grown, packed: Packed) -> Matched:
    """The candidates that were kept."""
    arrays, _ = packed
    return Matched(grown, Candidates(**arrays))
