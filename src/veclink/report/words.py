"""What a report says in plain words: the headline, what to do next, and why a link is one."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from operator import itemgetter
from typing import Any

import numpy as np

from veclink.confidence import evidence
from veclink.confidence.constants import MIN_TELLING_CHANGE
from veclink.confidence.explanations import SURE, in_words, model_changes, recorded_values
from veclink.confidence.intervals import Estimates
from veclink.data.links import Explanation, Links
from veclink.data.no_links import (
    FROM_NOTHING,
    NEXT,
    NO_LINKS_FROM_GIVEN,
    NO_LINKS_WITHOUT_SEEDS,
    next_of,
    no_start_converged,
    too_few_rows,
)
from veclink.data.summary import ALL
from veclink.data.titles import cleaned

GOOD = 0.9  # estimated precision, at the low end of its interval, from which links may be used unseen
# Said by the headline or the advice; or another count of what is shared than the one estimate that the page shows.
SAID_ELSEWHERE = (NO_LINKS_WITHOUT_SEEDS, NO_LINKS_FROM_GIVEN, NEXT, "Starting from ", "About ")
NOT_ESTIMATED = "; this method does not estimate how many of them are right."
SPEAKS = {1: "speaks for it", 0: "speaks neither for nor against it", -1: "speaks against it"}


def headline(links: Links, estimates: Estimates | None) -> tuple[str, str]:
    """The verdict in a few words, and the sentence after it."""
    summary = links.summary
    between = f"between {summary.n_a:,} and {summary.n_b:,} vectors"
    found = f"{len(links):,} links were found {between}"
    right = "" if estimates is None else f"about {_of_100(estimates.precision.value)} of 100 are right"
    doubtful = summary.verdict == "doubtful"
    if summary.verdict == "not linkable" and not len(links):
        return _headline_without_links(summary.reasons, between)
    if summary.verdict == "not linkable":
        return "Not linkable: do not use these links.", f"{len(links):,} pairs were found {between}, mostly by chance."
    if summary.agreement is not None and summary.agreement.note:
        # no one shall read "trust these links" and take its ids and titles
        found += f"; by the vectors alone, {right}" if right else ""
        found += ", and that is doubtful." if doubtful else "."
        payload = "The payload does not fit the vectors: check its order first."
        return payload, f"{cleaned(summary.agreement.sentence)} {found}"
    if doubtful:
        little = f". {right.capitalize()}, but such an estimate can be far off."
        return "Doubtful: look at the links before you use them.", found + (little if right else NOT_ESTIMATED)
    if estimates is None:
        return "The views agree: these links are likely right.", found + NOT_ESTIMATED
    if estimates.precision.low >= GOOD:
        recall = estimates.recall
        linked = f"about {_of_100(recall.value)}" if recall.high < ALL else f"likely at least {_of_100(recall.low)}"
        return (
            "You can trust these links.",
            f"{found}. {right.capitalize()}, and {linked} of 100 shared objects are linked.",
        )
    more = "raise the threshold if wrong links cost you more than missing ones."
    return "Most links are right, but not all.", f"{found}. {right.capitalize()}; {more}"


def shown_reasons(links: Links) -> list[str]:
    """The reasons but for those that the page says already."""
    return [each for each in links.summary.reasons if not each.startswith(SAID_ELSEWHERE)]


def advice(links: Links, estimates: Estimates | None, n_close: int) -> list[tuple[str, str]]:
    """What to do with the links, the most useful first, and the filter of the table that shows what it is about."""
    summary, told = links.summary, []
    if links.summary.is_open or summary.verdict == "not linkable":
        return [(each, "") for each in _next_steps(links)]
    unsure = links.probability[links.probability < SURE]
    if len(unsure):
        wrong, of_all = float((1 - unsure).sum()), float((1 - links.probability).sum())
        most = f" About {wrong:,.0f} of the {of_all:,.0f} wrong links to expect are among them."
        most = most if of_all >= 2 and summary.is_calibrated else ""
        told.append((f"Look first at the {len(unsure):,} links with a probability below {SURE}.{most}", "doubtful"))
    if n_close:
        told.append((f"Look at the {n_close:,} close calls, where a rival is nearly as good.", "close"))
    for wanted in (0.99, 0.95):
        sure = 0 if estimates is None or estimates.precision.value >= wanted else len(links.at(precision=wanted))
        if 0 < sure < len(links):
            told.append((f"For fewer wrong links, --precision {wanted} keeps the {sure:,} most certain of them.", ""))
            break
    if summary.wrong_seeds:
        told.append((f"Check the {len(summary.wrong_seeds):,} given pairs that look wrong; they were not used.", ""))
    if torn := len(summary.contradicting_seeds):
        told.append((f"Settle the {torn:,} given pairs that contradict one another; none of them was used.", ""))
    return told or [("Look through some of the links in the table, then use them.", "")]


def advice_without_links(links: Links) -> list[str]:
    """What to do where there is no link to look at."""
    if links.summary.verdict == "not linkable":
        return _next_steps(links)
    return ["Choose more of the judged pairs: veclink cut with a lower threshold, on the .parquet file of the run."]


def explanation(links: Links, i: int) -> Explanation:
    """Link i in words: how probable it is, its evidence, what speaks for it first, its votes and its rivals."""
    known, rivals, model = links.explain(i), links.rival_names(i), links.trace.get("model")
    chance = known["probability"]
    if known.get("given"):
        told = Explanation(Probability="1, as it was given as known")
    elif not links.summary.is_calibrated:
        told = Explanation(Probability=f"{chance:.3f}, a share of votes and no calibrated probability")
    else:
        right = "more than 99" if chance > 0.995 else f"about {100 * chance:.0f}"  # never rounded up to all
        told = Explanation(Probability=f"{chance:.3f}; of 100 pairs like this one, {right} are right")
    values = recorded_values(links.evidence, model["features"], i) if model and not known.get("given") else None
    told.update(_evidence_in_words(known, {} if model is None or values is None else model_changes(model, values)))
    if doubt := in_words(links, i, rivals["a"], rivals["b"]):
        told["Against it"] = doubt
    if known.get("views"):
        told["Votes"] = f"{known['votes']} of {known['views']} views proposed it"
    for side, name in rivals.items():
        if name:
            score = known.get(f"rival_{side}_score")
            told[f"Next best in {side.upper()}"] = name if score is None else f"{name}, with the score {score:.2f}"
    return told


def percent(share: float, digits: int = 1) -> str:
    """A share of 1 in per cent."""
    return f"{100 * share:.{digits}f} %"


def duration(seconds: float) -> str:
    """Seconds as a person says them: in seconds, minutes or hours."""
    if seconds < 120:
        return f"{seconds:.0f} s" if seconds >= 9.5 else f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"


def _headline_without_links(reasons: tuple[str, ...], between: str) -> tuple[str, str]:
    if too_few_rows(reasons):
        return "Too few rows to link.", f"No link {between} could be judged."
    if not no_start_converged(reasons):
        return "Not linkable: no link can be trusted.", f"No trustworthy link was found {between}. Why, is below."
    if reasons[0] == NO_LINKS_WITHOUT_SEEDS:
        unknown = f"That does not mean that nothing is shared. No start led to links {between}."
        return "No links found without seeds.", unknown
    cause = reasons[0].removeprefix(NO_LINKS_FROM_GIVEN).strip()
    return "No links found from what was given.", f"{cause} No start led to links {between}."


def _next_steps(links: Links) -> list[str]:
    """What to do where there are no links to trust, the easiest first."""
    reasons = links.summary.reasons
    coming = next_of(reasons).removeprefix(NEXT)
    coming = coming[:1].upper() + coming[1:]
    look = "Run veclink inspect on the two collections: it says what may be in the way."
    if links.summary.is_open and too_few_rows(reasons):
        return ["Link larger parts of the two collections, or match so few rows by hand."]
    if not links.summary.is_open:  # linking came to an end, and nothing is certain
        started_from = max(links.trace.get("starts", ()), key=itemgetter(1), default=(FROM_NOTHING, 0.0))[0]
        if not coming and started_from == FROM_NOTHING:  # from given pairs, more of them would change nothing
            coming = "Give known pairs, or more of them: 15 right ones are usually enough, 60 for hard data."
        shared = "Check that the two collections do share objects: near neighbours alone make no links."
        return [each for each in (look, coming, shared) if each]
    first = "Give 8 to 15 known pairs, ids or row numbers in a CSV file with columns a,b: --seeds pairs.csv."
    if coming and reasons[0] != NO_LINKS_WITHOUT_SEEDS:
        first = coming
    steps = [first]
    if not coming or "--seeds-by" in coming:  # not where a column was the start, or none has enough equal values
        steps.append(
            "If both collections carry a column such as title, url or sku: --seeds-by title, or --seeds-by auto; for "
            "bare .npy files give tables with a line for each row, in their order, by --payload-a and --payload-b."
        )
    if "--anchors" not in first:
        steps.append("If you can run both models: embed some texts with both, and give the two files by --anchors.")
    return [*steps, look]


def _evidence_in_words(known: Mapping[str, Any], changes: Mapping[str, float]) -> dict[str, str]:
    """What each kind of evidence says of a link, by its label, what speaks for it first and against it last.

    Those without words are there only where they are telling.
    """
    told = {}
    direction = {name: int(np.sign(change)) * (abs(change) > MIN_TELLING_CHANGE) for name, change in changes.items()}
    for entry in sorted(evidence.REGISTRY, key=lambda each: -direction.get(each.name, 0)):
        value, words = known.get(entry.name), []
        if entry.card is not None and value is not None and isfinite(value):
            words.append(entry.card(float(value), known))
        if direction.get(entry.name) or (words and entry.name in changes):
            words.append(SPEAKS[direction[entry.name]])
        if words:
            told[entry.label] = "; ".join(words)
    return told


def _of_100(share: float) -> str:
    """A share as a number out of 100, never rounded up to all."""
    return "99.5 or more" if share > 0.995 else f"{100 * share:.0f}"
