// Tables and code that scroll sideways can be reached by keyboard; the theme wraps tables after the page has loaded.
function reachable() {
  for (const box of document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset pre > code")) {
    box.tabIndex = 0;
  }
}
document.addEventListener("DOMContentLoaded", () => {
  reachable();
  new MutationObserver(reachable).observe(document.body, { childList: true, subtree: true });
});
