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
from veclink.data.summary import ALL
from veclink.data.words import FROM_NOTHING, say

GOOD = 0.9  # estimated precision, at the low end of its interval, from which links may be used unseen
# Said by the headline or the advice; or another count of what is shared than the one estimate that the page shows.
SAID_ELSEWHERE = ("no_links_without_seeds", "no_links_from_given", "next", "new_partners", "said_elsewhere")
SPEAKS = {1: "speaks for it", 0: "speaks neither for nor against it", -1: "speaks against it"}


def headline(links: Links, estimates: Estimates | None) -> tuple[str, str]:
    """The verdict in a few words, and the sentence after it."""
    state, summary = _state(links, estimates), links.summary
    known: dict[str, Any] = {}
    if state == "no_links_from_given":
        known["cause"] = summary.reasons[0].partition(". ")[2]
    if estimates is not None:
        recall = estimates.recall
        known["recall_is_open"] = is_open = recall.high >= ALL  # only its low end is known
        shares = {"precision": estimates.precision.value, "recall": recall.low if is_open else recall.value}
        for name, share in shares.items():  # out of 100, never rounded up to all
            known[name] = "99.5 or more" if share > 0.995 else f"{100 * share:.0f}"
    return say("head", state=state), say("below", state=state, summary=summary, **known)


def _state(links: Links, estimates: Estimates | None) -> str:
    """What a result comes to, as the words know it."""
    summary = links.summary
    if summary.verdict == "not linkable":
        if len(links):
            return "not linkable"
        return summary.why[0].code if summary.is_open else "no trusted link"
    if summary.agreement is not None and not summary.agreement.fits:
        return "payload"  # no one shall read "trust these links" and take its ids and titles
    if summary.verdict == "doubtful":
        return "doubtful"
    if not len(links):
        return "none kept"
    if estimates is None:
        return "not estimated"
    return "trusted" if estimates.precision.low >= GOOD else "most"


def advice(links: Links, estimates: Estimates | None, n_close: int) -> list[tuple[str, str]]:
    """What to do with the links, the most useful first, and the filter of the table that shows what it is about."""
    summary, told = links.summary, []
    if summary.is_open or summary.verdict == "not linkable":
        return [(each, "") for each in advice_without_links(links)]
    if not len(links):
        return [(say("lower_threshold"), "")]
    unsure = links.probability[links.probability < SURE]
    if len(unsure):
        wrong, every = float((1 - unsure).sum()), float((1 - links.probability).sum())
        of_all = every if every >= 2 and summary.is_calibrated else None
        told.append((say("look_at_doubtful", links=len(unsure), sure=SURE, wrong=wrong, of_all=of_all), "doubtful"))
    if n_close:
        told.append((say("look_at_close_calls", links=n_close), "close"))
    for wanted in (0.99, 0.95):
        sure = 0 if estimates is None or estimates.precision.value >= wanted else len(links.at(precision=wanted))
        if 0 < sure < len(links):
            told.append((say("keep_most_certain", precision=wanted, links=sure), ""))
            break
    for code, seeds in (("check_wrong_seeds", summary.wrong_seeds), ("settle_seeds", summary.contradicting_seeds)):
        if seeds:
            told.append((say(code, seeds=len(seeds)), ""))
    return told or [(say("look_through"), "")]


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


def advice_without_links(links: Links) -> list[str]:
    """What to do where there are no links to trust, or none to look at, the easiest first."""
    summary, coming, way = links.summary, "", ""
    if summary.verdict != "not linkable":
        return [say("choose_more")]
    state = summary.why[0].code if summary.is_open else ""
    if state == "too_few_rows":
        return [say("link_larger")]
    for reason in summary.why:
        if reason.code == "next":
            way = reason.values.get("way", "nothing")
            coming = str(reason).removeprefix("Next: ")
            coming = coming[:1].upper() + coming[1:]
    if not state:  # linking came to an end, and nothing is certain
        started_from = max(links.trace.get("starts", ()), key=itemgetter(1), default=(FROM_NOTHING, 0.0))[0]
        if not coming and started_from == FROM_NOTHING:  # from given pairs, more of them would change nothing
            coming = say("give_more")
        return [each for each in (say("inspect_both"), coming, say("check_shared")) if each]
    steps = [coming if coming and state != "no_links_without_seeds" else say("give_pairs")]
    if way in ("", "nothing", "few pairs"):  # not where a column was the start, or none has enough equal values
        steps.append(say("take_column"))
    if way != "many pairs":  # which says it
        steps.append(say("embed_texts"))
    return [*steps, say("inspect_both")]


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
