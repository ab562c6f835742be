"""What `veclink bench` offers besides the paper's experiments: studies, measurements of speed, pictures and pages.

Each is a module with a `main()` that reads its own options. It runs in a process of its own (`python -m veclink_bench
NAME`), which imports it only then: `veclink --help` stays quick, and a measurement of memory starts from a small
process.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """One command: the module that runs it, and what it does in a line."""

    module: str
    about: str


STUDIES = {
    "span": Entry("studies.span", "the span linker on real vectors, every figure of the README"),
    "span-table": Entry("studies.span_table", "the table of what `span` measured"),
    "geh": Entry("studies.geh", "GEH: the main figures and the ablation"),
    "geh-local": Entry("studies.geh_local", "GEH's local path: neighbours of each anchor, size of a view"),
    "intervals": Entry("studies.intervals", "estimates beside the truth, for the ranges in the report"),
    "coverage": Entry("studies.coverage", "how often those ranges hold the truth"),
    "real": Entry("studies.real", "collections as users have them: unequal, with copies, with little in common"),
    "bounds": Entry("studies.bounds", "the same where every link is known: what the vectors allow"),
    "mixed": Entry("studies.mixed", "large collections of several kinds, all rows asked and not"),
    "probe": Entry("studies.probe", "what `veclink probe` says, beside what is true"),
    "review": Entry("studies.review", "how far the review page's precision can be believed"),
    "two-models": Entry("studies.two_models", "does `veclink inspect` see that a collection mixes two models"),
    "no-seeds": Entry("studies.no_seeds", "linking from nothing, beside fifteen seeds on the same splits"),
    "living": Entry("studies.living", "new rows judged by a saved linker, beside linking everything again"),
    "anchored": Entry("studies.anchored", "linking from outside anchors, along their own map and without it"),
    "refits": Entry("studies.refits", "maps fitted again to all candidates: how often, in how many folds"),
    "other-maps": Entry("studies.other_maps", "what local and kernel maps would add to the evidence"),
    "few-candidates": Entry("studies.few_candidates", "two calibrations of few candidates, beside what is true"),
    "recorded-runs": Entry("studies.recorded_runs", "forty-two runs recorded, to compare two versions of the code"),
    "merge-sure": Entry("studies.merge_sure", "which links may make two rows one, and by which map the rest moves"),
    "advise": Entry("studies.advise", "what `veclink advise` says of changing the model, beside what is true"),
    "mutants": Entry("mutants", "small faults put into `confidence` one at a time: do the tests notice"),
    "databases": Entry("studies.databases", "two databases linked by URL, the links written back to both"),
}
SPEED = {
    "memory": Entry("speed.memory", "resident memory of `veclink link --memory`"),
    "geh-local-memory": Entry("speed.geh_local", "GEH's local path: time, and memory beside the vectors"),
    "geh-titles": Entry("speed.geh_titles", "GEH's local path on hundreds of thousands of titles on one GPU"),
    "out-of-core": Entry("speed.out_of_core", "peak memory of collections that do not fit the budget"),
    "busy": Entry("speed.busy", "link() beside 0, 1 and 4 processes that never rest"),
    "ray-matching": Entry("speed.ray_matching", "the exact pass in Ray tasks on one machine, against one process"),
    "gpu-matching": Entry("speed.gpu_matching", "exact matching on one GPU: right, tuned, timed"),
    "gpu-linking": Entry("speed.gpu_linking", "millions of vectors linked on one GPU"),
    "cut-titles": Entry("speed.cut_titles", "real vectors at the paper's largest size, linked on one GPU"),
    "store-speed": Entry("speed.stores", "reading each store, against a bare loop over its own client"),
    "merge-speed": Entry("speed.merging", "merging into LanceDB: time, memory, killed and taken up again"),
    "report-speed": Entry("speed.report", "the report of many links: its size, and how long it takes to open"),
}
PAGES = {
    "fill": Entry("filling", "measure what several tables lack, the most important first, on cores and a GPU at once"),
    "together": Entry("together", "measure the cells of several studies at once on many cores, and take them in"),
    "results": Entry("results_page", "fill the numbers and tables of all pages from the results, draw all figures"),
    "check": Entry("checking", "fail where a page is not what the results and the code say"),
    "pictures": Entry("pictures.method", "the pictures of the page on how it works"),
    "report-pictures": Entry("pictures.report_page", "the pictures of the report and of the probe's page"),
    "sample": Entry("studies.sample", "what the commands of the start page print of the bundled sample"),
    "gallery": Entry("pictures.gallery", "the gallery of reports: small cuts of the bundled sample"),
    "review-picture": Entry("pictures.review_page", "the picture of the review page"),
    "make-sample": Entry("make_sample", "cut the bundled sample out of a folder of papers"),
}
ENTRIES = STUDIES | SPEED | PAGES
