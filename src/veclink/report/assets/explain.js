"use strict";
/* The explanation of one link: a waterfall of what raised and lowered its odds, its rivals, and the links around it. */
const UNEXPLAINED = "The reasons are not in these links: they came from a CSV file with the short columns. A .parquet file has " +
  "them, and so has CSV that was written with --columns all.";

function explainer(dialog, data, names, estimates, threshold, order, opened) {
  const c = data.column, { model, labels, told } = data.facts, body = dialog.querySelector(".body"), title = dialog.querySelector("h2");
  const first = c.rank.length ? c.rank[0] : 0;
  let now = 0;
  const step = (by) => {
    const rows = order(), place = rows.indexOf(now - first), next = place < 0 ? now - first + by : rows[place + by];
    if (next !== undefined && next >= 0 && next < c.rank.length) show(c.rank[next]);
  };
  dialog.querySelector("[data-step='-1']").addEventListener("click", () => step(-1));
  dialog.querySelector("[data-step='1']").addEventListener("click", () => step(1));
  dialog.querySelector("[data-close]").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  dialog.addEventListener("keydown", (event) => {
    if (event.key === "ArrowRight" || event.key === "j") step(1);
    else if (event.key === "ArrowLeft" || event.key === "k") step(-1);
    else return;
    event.preventDefault();
  });

  function show(rank) {
    const row = rank - first;
    if (row < 0 || row >= c.rank.length) return;
    now = rank;
    const p = estimates.probability(rank);
    title.textContent = `Link ${whole(rank + 1)}: probability ${chances(p)}`;
    const parts = [sides(row), verdict(row, rank, p)];
    if (model && model.features.every((name) => c[name] && !Number.isNaN(c[name][row]))) parts.push(waterfall(row));
    if (c.rival_a) parts.push(rivals(row));
    if (c.near1_a) parts.push(nearby(row));
    if (!c.rival_a && !c.votes) parts.push(element("p", { class: "soft" }, UNEXPLAINED));
    body.replaceChildren(...parts);
    opened(rank);
    if (!dialog.open) dialog.showModal();
    dialog.scrollTop = 0;
  }
  let partners = { k: -1 };
  function partnerOf(side, place) { // of the links above the threshold, where it stands now
    if (partners.k !== threshold.k) {
      partners = { k: threshold.k, a: new Map(), b: new Map() };
      for (let row = 0; row < c.rank.length && c.rank[row] < threshold.k; row++) {
        partners.a.set(c.a[row], c.b[row]);
        partners.b.set(c.b[row], c.a[row]);
      }
    }
    return partners[side].get(place);
  }
  const label = (side, place) => { const { id, title: text } = names(side, place); return text || id; };
  function sides(row) {
    return element("div", { class: "sides" }, ...["a", "b"].map((side) => {
      const { id, title: text } = names(side, c[side][row]);
      return element("div", {}, element("span", { class: "soft small" }, `In ${side.toUpperCase()}`),
        element("strong", {}, text || id), text ? element("span", { class: "id" }, id) : null);
    }));
  }
  function verdict(row, rank, p) {
    const said = [];
    if (c.given[row]) said.push("It was given as known, so it counts as certain.");
    else if (p >= 0.5) said.push(`Of 100 links like this one, about ${Math.round(100 * p)} are right.`);
    else said.push(`Of 100 pairs like this one, only about ${Math.round(100 * p)} are right.`);
    if (rank >= threshold.k) said.push("It is below the threshold and not among the links.");
    if (c.votes && c.votes[row]) {
      said.push(`${c.votes[row]} of ${c.views[row]} views of the final pool proposed it without having it as an anchor.`);
    } else if (c.votes) said.push("It was not in the final pool of the growth.");
    if (c.right) said.push(c.right[row] ? "The truth has it." : "The truth does not have it.");
    return element("p", {}, said.join(" "));
  }
  function waterfall(row) {
    const steps = [["A pair with average evidence", null, 0, model.base]];
    let odds = model.base;
    const changes = new Map();
    model.features.forEach((name, i) => {
      const change = (model.weights[i] * (c[name][row] - model.centre[i])) / model.scale[i], as = told[name] || name;
      changes.set(as, (changes.get(as) || 0) + change);
    });
    for (const [name, change] of changes) {
      steps.push([labels[name] || name, c[name][row], odds, odds + change]);
      odds += change;
    }
    steps.push([c.given[row] ? "By the evidence alone" : "All together", null, 0, odds]);
    const reach = Math.max(5, ...steps.flatMap((each) => [Math.abs(each[2]), Math.abs(each[3])])) * 1.05;
    const at = (x) => 50 + (50 * x) / reach, chance = (x) => 1 / (1 + Math.exp(-x));
    const lines = steps.map(([word, value, from, to]) => {
      const bar = element("i", { class: value === null ? "whole" : to < from ? "down" : "up" });
      bar.style.left = `${at(Math.min(from, to))}%`;
      bar.style.width = `${Math.abs(at(to) - at(from))}%`;
      const change = `${to < from ? "−" : "+"}${Math.abs(to - from).toFixed(1)}`;
      const shown = value === null ? null : element("span", { class: "soft" }, ` ${fixed(value)}`);
      return element("tr", {}, element("th", { scope: "row" }, word, shown),
        element("td", {}, element("div", { class: "track", "aria-hidden": "true" }, bar)),
        element("td", { class: "step" }, value === null ? chances(chance(to)) : change));
    });
    const axis = element("div", { class: "axis", "aria-hidden": "true" });
    for (const share of [0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999]) {
      const x = Math.log(share / (1 - share));
      if (Math.abs(x) > reach * 0.97) continue;
      const tick = element("span", {}, String(share));
      tick.style.left = `${at(x)}%`;
      axis.append(tick);
    }
    return element("div", {}, element("h3", {}, "What speaks for it, and what against"),
      element("p", { class: "soft small" },
        "Green bars raise the odds, red ones lower them; the numbers are changes of the log odds."),
      element("table", { class: "waterfall" }, element("tbody", {}, ...lines,
        element("tr", {}, element("td"), element("td", {}, axis), element("td")))));
  }
  function rivals(row) {
    const own = Number.isNaN(c.score[row]) ? "–" : fixed(c.score[row]);
    const rows = [["This link", label("b", c.b[row]), label("a", c.a[row]), own]];
    for (const side of ["b", "a"]) {
      const rival = c[`rival_${side}`][row], there = rival >= 0, partner = there ? partnerOf(side, rival) : undefined;
      const score = there ? fixed(c[`rival_${side}_score`][row]) : "–";
      const taken = !there ? "–" : partner === undefined ? "nothing" : label(side === "a" ? "b" : "a", partner);
      rows.push([`Next best in ${side.toUpperCase()}`, there ? label(side, rival) : "none", taken, score]);
    }
    return element("div", {}, element("h3", {}, "Its rivals"),
      element("p", { class: "soft small" },
        "The next best partners. One that is linked elsewhere fits another object better, and is a weak rival. " +
        "One that is linked with nothing could be the right partner: compare the two by eye."),
      tableOf(["Which", "Name", "Linked with", "Score"], rows, { right: [3], named: true }));
  }
  function nearby(row) {
    const rows = [];
    for (let i = 1; i <= 3; i++) {
      const a = c[`near${i}_a`], b = c[`near${i}_b`];
      if (!a || a[row] < 0 || b[row] < 0) continue;
      rows.push([label("a", a[row]), label("b", b[row]), fixed(c[`near${i}_similarity`][row])]);
    }
    if (!rows.length) return element("div");
    return element("div", {}, element("h3", {}, "The links nearest to it"),
      tableOf(["In A", "In B", "Similarity"], rows, { right: [2] }));
  }
  return show;
}
