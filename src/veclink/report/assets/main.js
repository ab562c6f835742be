"use strict";
/* Puts the page together. Everything that can be said without a script is in the HTML already. */
async function start() {
  const data = await readData(), c = data.column, estimates = estimator(data);
  const names = (side, place) => {
    const id = data[`ids_${side}`][place] ?? "";
    const title = c[`title_${side}`] ? data.texts[c[`title_${side}`][place]] : "";
    return { id: (data.numbered[side] ? `row ${id}` : id).slice(0, 160), title };
  };
  const followers = [];
  const threshold = {
    k: data.facts.kept,
    move(k) {
      const next = Math.min(Math.max(1, Math.round(k)), estimates.count);
      if (next === threshold.k) return;
      threshold.k = next;
      followers.forEach((tell) => tell());
    },
    follow(tell) { followers.push(tell); },
  };
  const by = (id) => document.getElementById(id);
  if (data.facts.growth.length && by("growth-chart")) growth(by("growth-chart"), data.facts.growth);
  if (!estimates.count) return;
  let table = null, map = null;
  const show = explainer(by("why"), data, names, estimates, threshold, () => table.order(), (rank) => { if (map) map.choose(rank); });
  if (by("histogram")) histogram(by("histogram"), data, estimates, threshold);
  if (by("curve")) curve(by("curve"), data, estimates, threshold);
  if (by("threshold-slider")) controls(data, estimates, threshold);
  if (by("map")) map = linkMap(by("map"), data, names, threshold, show);
  table = linkTable(by("links"), data, names, threshold, show);
  for (const button of document.querySelectorAll("[data-open]")) {
    button.hidden = false;
    button.addEventListener("click", () => show(Number(button.dataset.open)));
  }
  for (const link of document.querySelectorAll("[data-filter]")) {
    link.addEventListener("click", () => table.only(link.dataset.filter));
  }
}

function controls(data, estimates, threshold) {
  const by = (id) => document.getElementById(id), slider = by("threshold-slider"), facts = data.facts;
  const between = ([, low, high]) => (high >= 0.9995 ? `at least ${percent(low)}` : `${percent(low)} to ${percent(high)}`);
  const tell = () => {
    const at = estimates.at(threshold.k);
    slider.value = threshold.k;
    const estimated = facts.estimated ? `, precision ${percent(at.precision[0])}, recall ${percent(at.recall[0])}` : "";
    slider.setAttribute("aria-valuetext", `${whole(at.k)} links, probability at least ${chances(at.least)}${estimated}`);
    by("at-links").textContent = whole(at.k);
    by("at-least").textContent = `probability ≥ ${chances(at.least)}`;
    if (facts.estimated) {
      by("at-wrong").textContent = at.wrong < 9.5 ? at.wrong.toFixed(1) : whole(at.wrong);
      for (const name of ["precision", "recall"]) {
        by(`at-${name}`).textContent = percent(at[name][0]);
        by(`at-${name}-range`).textContent = between(at[name]);
      }
      by("at-f1").textContent = percent(at.f1);
    }
    for (const button of document.querySelectorAll("[data-threshold]")) {
      button.setAttribute("aria-pressed", String(Number(button.dataset.k) === threshold.k));
    }
  };
  for (const button of document.querySelectorAll("[data-threshold]")) {
    const wanted = Number(button.dataset.threshold), k = wanted ? estimates.forPrecision(wanted) : facts.kept;
    button.dataset.k = k;
    button.disabled = k < 1;
    button.addEventListener("click", () => threshold.move(k));
  }
  slider.addEventListener("input", () => threshold.move(Number(slider.value)));
  const save = by("save");
  if (data.column.rank.length < estimates.count) save.hidden = true; // the names of the others are not in the page
  save.addEventListener("click", () => {
    const quote = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    const c = data.column, lines = ["a,b,probability"];
    const name = (side, row) => quote(data[`ids_${side}`][c[side][row]]);
    for (let row = 0; row < threshold.k; row++) {
      lines.push(`${name("a", row)},${name("b", row)},${c.exact[row]}`);
    }
    const file = new Blob([`${lines.join("\n")}\n`], { type: "text/csv" });
    const link = element("a", { href: URL.createObjectURL(file), download: "links.csv" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
  threshold.follow(tell);
  tell();
}

start().then(() => { document.documentElement.dataset.ready = "yes"; }, (error) => {
  document.documentElement.dataset.ready = "no";
  const told = document.getElementById("failed");
  told.hidden = false;
  told.textContent = `The charts and the table could not be shown (${error.message}). The verdict and the figures above `
    + "are complete; a newer browser shows the rest.";
});
