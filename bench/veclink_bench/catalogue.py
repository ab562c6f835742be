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
    "real": Entry("studies.real", "collections as users have them: unequal, with copies, with little in common"),
    "ablate": Entry("studies.ablate", "the same without one part of span linking at a time: what each is worth"),
    "catalogues": Entry(
        "studies.catalogues", "two shops, two bibliographies: other texts of the same objects, from few pairs to many"
    ),
    "mutants": Entry("mutants", "small faults put in one at a time: do the tests notice"),
}
SPEED = {
    "geh-titles": Entry("speed.geh_titles", "GEH's local path on hundreds of thousands of titles on one GPU"),
    "gpu-linking": Entry("speed.gpu_linking", "millions of vectors linked on one GPU"),
    "cut-titles": Entry("speed.cut_titles", "real vectors at the paper's largest size, linked on one GPU"),
    "store-speed": Entry("speed.stores", "reading each store, against a bare loop over its own client"),
}
PAGES = {
    "fetch": Entry("fetch", "the texts of the corpora from where they are published, and vectors of them"),
    "results": Entry("results_page", "fill the numbers and tables of all pages from the results, draw all figures"),
    "check": Entry("checking", "fail where a page is not what the results and the code say"),
    "report-pictures": Entry("pictures.report_page", "the pictures of the report and of the probe's page"),
    "sample": Entry("studies.sample", "what the commands of the start page print of the bundled sample"),
    "gallery": Entry("pictures.gallery", "the gallery of reports: small cuts of the bundled sample"),
    "review-picture": Entry("pictures.review_page", "the picture of the review page"),
    "make-sample": Entry("make_sample", "cut the bundled sample out of a folder of papers"),
}
ENTRIES = STUDIES | SPEED | PAGES
