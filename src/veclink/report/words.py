"""What a report says in plain words: the headline, what it means, and what to do next."""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter

import numpy as np

from veclink.confidence.explanations import SURE
from veclink.confidence.intervals import Estimates
from veclink.data.links import Links
from veclink.data.no_links import (
    FROM_NOTHING,
    NEXT,
    NO_LINKS_FROM_GIVEN,
    NO_LINKS_WITHOUT_SEEDS,
    next_of,
    no_start_converged,
    too_few_rows,
)
from veclink.data.summary import ALL, Summary
from veclink.data.titles import cleaned

GOOD = 0.9  # estimated precision, at the low end of its interval, from which links may be used unseen


@dataclass(frozen=True)
class Advice:
    """One thing to do next; `shows` names the filter of the table that shows what it speaks of."""

    text: str
    shows: str | None = None


def headline(links: Links, estimates: Estimates | None) -> tuple[str, str]:
    """The verdict in a few words, and the sentence after it."""
    summary = links.summary
    between = f"between {summary.n_a:,} and {summary.n_b:,} vectors"
    if summary.verdict == "not linkable":
        if not len(links):
            return _headline_without_links(summary.reasons, between)
        return "Not linkable: do not use these links.", f"{len(links):,} pairs were found {between}, mostly by chance."
    if summary.agreement is not None and summary.agreement.note:
        return _headline_of_vectors(links, estimates, between)
    if estimates is None:
        found = f"{len(links):,} links were found {between}; this method does not estimate how many of them are right."
        if summary.verdict == "doubtful":
            return "Doubtful: look at the links before you use them.", found
        return "The views agree: these links are likely right.", found
    right = _of_100(estimates.precision.value)
    found = f"{len(links):,} links were found {between}. About {right} of 100 are right"
    if summary.verdict == "doubtful":
        return (
            "Doubtful: look at the links before you use them.",
            f"{found}, but with so little in common such an estimate can be far off.",
        )
    if estimates.precision.low >= GOOD:
        linked = _linked_share(estimates)
        return "You can trust these links.", f"{found}, and {linked} of 100 shared objects are linked."
    return (
        "Most links are right, but not all.",
        f"{found}; raise the threshold if wrong links cost you more than missing ones.",
    )


def _headline_of_vectors(links: Links, estimates: Estimates | None, between: str) -> tuple[str, str]:
    """Where the payload does not fit: no one shall read "trust these links" and take its ids and titles."""
    agreement = links.summary.agreement
    assert agreement is not None
    found = f"{len(links):,} links were found {between}"
    if estimates is not None:
        found += f"; by the vectors alone, about {_of_100(estimates.precision.value)} of 100 are right"
    if links.summary.verdict == "doubtful":
        found += ", and that is doubtful"
    return "The payload does not fit the vectors: check its order first.", f"{cleaned(agreement.sentence)} {found}."


def is_open(links: Links) -> bool:
    """Whether the run could not tell what is shared: then “not linkable” is no finding about the data."""
    reasons = links.summary.reasons
    return not len(links) and (no_start_converged(reasons) or too_few_rows(reasons))


def shown_reasons(links: Links) -> list[str]:
    """The reasons but for those that the headline and the advice say already."""
    reasons = links.summary.reasons
    said = (NO_LINKS_WITHOUT_SEEDS, NO_LINKS_FROM_GIVEN, NEXT)
    return [each for each in reasons if not each.startswith(said)]


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


def advice(links: Links, estimates: Estimates | None, n_close: int) -> list[Advice]:
    """What to do with the links, the most useful first."""
    summary, told = links.summary, []
    if is_open(links):
        return _next_steps(summary.reasons)
    if summary.verdict == "not linkable":
        return _advice_on_nothing(links)
    doubtful = int(np.count_nonzero(links.probability < SURE))
    if doubtful:
        unsure = links.probability[links.probability < SURE]
        wrong, of_all = float((1 - unsure).sum()), float((1 - links.probability).sum())
        most = ""
        if of_all >= 2 and summary.is_calibrated:
            most = f" About {wrong:,.0f} of the {of_all:,.0f} wrong links to expect are among them."
        told.append(Advice(f"Look first at the {doubtful:,} links with a probability below {SURE}.{most}", "doubtful"))
    if n_close:
        told.append(Advice(f"Look at the {n_close:,} close calls, where a rival is nearly as good.", "close"))
    if estimates is not None:
        for wanted in (0.99, 0.95):
            sure = links.at(precision=wanted)
            if 0 < len(sure) < len(links) and estimates.precision.value < wanted:
                told.append(
                    Advice(f"For fewer wrong links, --precision {wanted} keeps the {len(sure):,} surest of them.")
                )
                break
    told += _advice_on_seeds(summary)
    if not told:
        told.append(Advice("Look through some of the links in the table, then use them."))
    return told


def _advice_on_nothing(links: Links) -> list[Advice]:
    """What to do where linking came to an end and nothing is certain."""
    told = ["Run veclink probe on the two collections: it says what is in the way."]
    coming = _next_in_words(links.summary.reasons)
    starts = links.trace.get("starts", ())
    grown_from, _ = max(starts, key=itemgetter(1), default=(FROM_NOTHING, 0.0))
    if coming:
        told.append(coming)
    elif grown_from == FROM_NOTHING:  # where it was from given pairs or anchors, more of them would change nothing
        told.append("Give known pairs, or more of them: 15 right ones are usually enough, 60 for hard data.")
    told.append("Check that the two collections do share objects: near neighbours alone make no links.")
    return [Advice(each) for each in told]


def advice_without_links(links: Links) -> list[str]:
    """What to do where there is no link to look at."""
    if links.summary.verdict == "not linkable":
        return [each.text for each in advice(links, None, 0)]
    return ["Choose more of the judged pairs: veclink cut with a lower threshold, on the .parquet file of the run."]


def _advice_on_seeds(summary: Summary) -> list[Advice]:
    """What to do about given pairs that were not used."""
    told = []
    if summary.wrong_seeds:
        told.append(Advice(f"Check the {len(summary.wrong_seeds):,} given pairs that look wrong; they were not used."))
    if summary.contradicting_seeds:
        count = len(summary.contradicting_seeds)
        told.append(Advice(f"Settle the {count:,} given pairs that contradict one another; none of them was used."))
    return told


def _next_steps(reasons: tuple[str, ...]) -> list[Advice]:
    """What to do where no start converged, the easiest first."""
    if too_few_rows(reasons):
        return [Advice("Link larger parts of the two collections, or match so few rows by hand.")]
    coming = _next_in_words(reasons)
    first = "Give 8 to 15 known pairs, ids or row numbers in a CSV file with columns a,b: --seeds pairs.csv."
    if coming and reasons[0] != NO_LINKS_WITHOUT_SEEDS:
        first = coming
    steps = [first]
    if not coming or "--seeds-by" in coming:  # not where a column was the start, or none has enough equal values
        steps.append(
            "If both collections carry a column such as title, url or sku: --seeds-by title, or --seeds-by auto; for "
            "bare .npy files give tables with a line for each row, in their order, by --payload-a and --payload-b."
        )
    if "veclink anchors" not in first:
        steps.append(
            "If you can run both models: veclink anchors embeds texts with both; give the two files by --anchors."
        )
    steps.append("Run veclink probe on the two collections: it says what else may be in the way.")
    return [Advice(each) for each in steps]


def _linked_share(estimates: Estimates) -> str:
    """How many of 100 shared objects are linked: a bound, where the range says no more than that."""
    recall = estimates.recall
    if recall.high >= ALL:
        return f"likely at least {_of_100(recall.low)}"
    return f"about {_of_100(recall.value)}"


def _next_in_words(reasons: tuple[str, ...]) -> str:
    """What the reasons say to do next, as a sentence of its own; empty where they do not."""
    coming = next_of(reasons).removeprefix(NEXT)
    return coming[:1].upper() + coming[1:]


def _of_100(share: float) -> str:
    """A share as a number out of 100, never rounded up to all."""
    return "99.5 or more" if share > 0.995 else f"{100 * share:.0f}"
