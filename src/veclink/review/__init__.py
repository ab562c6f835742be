"""The local web page for checking links: the doubtful first, side by side, answered with single keys.

The path of an answer: `page` (the browser) → `server` (who may ask) → `session` (what is asked) → `journal` (on disk
before the page is told). The way back: `session` → `fragments` (the HTML, from `templates`) → htmx, which puts each
piece in its place on the page. `bands` orders the links, `estimate` says what the answers mean for all of them, `shown`
is what a person sees of a link (`payloads` adds tables to vectors that have none), `again` links again with what was
accepted, and `exports` writes it out.
"""
