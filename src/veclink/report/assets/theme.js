"use strict";
/* Light and dark, by the reader's system or by hand; paper is always light. */
function repaint() { if (typeof drawAll === "function") drawAll(); }

document.getElementById("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  repaint();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
let shownIn;
addEventListener("beforeprint", () => { shownIn = document.documentElement.dataset.theme; document.documentElement.dataset.theme = "light"; repaint(); });
addEventListener("afterprint", () => { if (shownIn) document.documentElement.dataset.theme = shownIn; else delete document.documentElement.dataset.theme; repaint(); });
