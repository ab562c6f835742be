"use strict";
/* The table of links: search, filter, sort, a page at a time. `row` counts listed links, `rank` all that the run considered. */
function linkTable(root, data, names, threshold, open) {
  const c = data.column, n = c.rank.length, body = root.querySelector("tbody");
  const size = matchMedia("(max-width: 44rem)").matches ? 10 : 25;
  const search = root.querySelector("#search"), filter = root.querySelector("#filter");
  const count = root.querySelector("#found");
  const titled = { a: Boolean(c.title_a), b: Boolean(c.title_b) };
  let order = new Uint32Array(0), page = 0, sorted = { by: "rank", down: false }, hay = null;
  const ranks = {};
  const p = (row) => c.probability[c.rank[row]] / 65535;
  const margin = (row) => (c.rival_a ? Math.min(gap(row, "a"), gap(row, "b")) : NaN);
  const gap = (row, side) => (c[`rival_${side}`][row] >= 0 ? c.score[row] - c[`rival_${side}_score`][row] : Infinity);
  const close = (row) => !c.given[row] && margin(row) <= data.facts.close;
  const tests = {
    kept: (row) => c.rank[row] < threshold.k,
    below: (row) => c.rank[row] >= threshold.k,
    doubtful: (row) => c.rank[row] < threshold.k && p(row) < 0.9,
    close: (row) => c.rank[row] < threshold.k && close(row),
    given: (row) => c.given[row],
    differ: (row) => c.rank[row] < threshold.k && c.title_a[c.a[row]] !== c.title_b[c.b[row]],
    wrong: (row) => c.rank[row] < threshold.k && !c.right[row],
    all: () => true,
  };
  const text = (side, row) => { const name = names(side, c[side][row]); return name.title || name.id; };
  function alphabetical(side) { // the place of every listed row in the order of its name; made once, when asked for
    if (!ranks[side]) {
      const { compare } = new Intl.Collator("en", { numeric: true });
      const texts = Array.from({ length: n }, (_, row) => text(side, row)), sorted = Array.from(texts.keys());
      ranks[side] = new Uint32Array(n);
      sorted.sort((x, y) => compare(texts[x], texts[y])).forEach((row, place) => { ranks[side][row] = place; });
    }
    return ranks[side];
  }
  const leads = () => Float32Array.from({ length: n }, (_, row) => { const m = margin(row); return Number.isNaN(m) ? -1 : m; });
  const limits = { // what the fields of "Filter by column" ask of a row
    "p-least": (row, x) => p(row) >= x,
    "p-most": (row, x) => p(row) <= x,
    "lead-most": (row, x) => margin(row) <= x,
    a: (row, x) => own("a", row).includes(x),
    b: (row, x) => own("b", row).includes(x),
  };
  const own = (side, row) => Object.values(names(side, c[side][row])).join("\n").toLowerCase();
  const fields = [...root.querySelectorAll("[data-column]")];
  function wanted() { // the fields that say something, each as a test of a row
    return fields.filter((field) => field.value.trim() !== "").map((field) => {
      const asked = field.type === "number" ? field.valueAsNumber : field.value.trim().toLowerCase();
      return (row) => limits[field.dataset.column](row, asked);
    });
  }
  const keys = { rank: () => c.rank, a: () => alphabetical("a"), b: () => alphabetical("b"), margin: leads };

  function searched(row) {
    return `${own("a", row)}\n${own("b", row)}`;
  }
  function choose() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean), test = tests[filter.value] || tests.all;
    if (words.length && !hay) hay = Array.from({ length: n }, (_, row) => searched(row));
    const found = [], asked = wanted();
    for (let row = 0; row < n; row++) {
      if (test(row) && words.every((word) => hay[row].includes(word)) && asked.every((fits) => fits(row))) found.push(row);
    }
    order = Uint32Array.from(found);
    const key = keys[sorted.by](), sign = sorted.down ? -1 : 1;
    if (sorted.by !== "rank" || sorted.down) order.sort((x, y) => sign * (key[x] - key[y]) || x - y);
    page = 0;
    show();
  }
  function show() {
    const pages = Math.max(1, Math.ceil(order.length / size));
    page = Math.min(page, pages - 1);
    body.replaceChildren(...Array.from(order.subarray(page * size, (page + 1) * size), line));
    if (!order.length) {
      const nothing = "No link fits. Clear the search and the fields by column, or choose another filter.";
      body.append(element("tr", {}, element("td", { colspan: "7" }, nothing)));
    }
    count.textContent = `${whole(order.length)} ${order.length === 1 ? "pair" : "pairs"}`;
    root.querySelector("#where").textContent = `Page ${whole(page + 1)} of ${whole(pages)}`;
    for (const button of root.querySelectorAll("[data-page]")) {
      button.disabled = button.dataset.page < 0 ? page === 0 : page >= pages - 1;
    }
  }
  function line(row) {
    const kept = c.rank[row] < threshold.k, bar = element("i");
    bar.style.width = `${100 * p(row)}%`;
    const tags = [];
    if (c.given[row]) tags.push(element("span", { class: "tag" }, "given"));
    if (!kept) tags.push(element("span", { class: "tag" }, "below the threshold"));
    if (close(row)) tags.push(element("span", { class: "tag close" }, "close call"));
    const known = c.right && (c.right[row] ? "right" : "wrong"), m = margin(row);
    if (known) tags.push(element("span", { class: `tag ${known}` }, known));
    const made = element("tr", { class: kept ? "" : "below-threshold" },
      element("td", { class: "number-cell", "data-label": "rank" }, whole(c.rank[row] + 1)),
      element("td", { "data-label": "probability" }, chances(p(row)),
        element("span", { class: "meter", "aria-hidden": "true" }, bar)),
      cell("a", row), cell("b", row),
      element("td", { class: "number-cell", "data-label": "lead" }, Number.isFinite(m) ? fixed(m) : "–"),
      element("td", {}, ...tags),
      element("td", { class: "c-open" },
        element("button", { type: "button", "aria-label": `Explain link ${c.rank[row] + 1}` }, "Why?")));
    made.addEventListener("click", () => { if (!String(getSelection())) open(c.rank[row]); });
    return made;
  }
  function cell(side, row) {
    const { id, title } = names(side, c[side][row]);
    const below = titled[side] ? element("span", { class: "id" }, id) : null;
    return element("td", { "data-label": side.toUpperCase() }, title || id, below);
  }
  let waiting = 0;
  for (const field of [search, ...fields]) {
    field.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(choose, n > 20000 ? 150 : 0); });
  }
  filter.addEventListener("change", choose);
  for (const button of root.querySelectorAll("[data-page]")) {
    button.addEventListener("click", () => { page += Number(button.dataset.page); show(); });
  }
  const heads = root.querySelectorAll("th[data-sort]");
  for (const head of heads) head.querySelector("button").addEventListener("click", () => {
    const by = head.dataset.sort;
    sorted = { by, down: sorted.by === by ? !sorted.down : false };
    for (const each of heads) each.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", sorted.down ? "descending" : "ascending");
    choose();
  });
  let stale = 0;
  threshold.follow(() => { // once a frame, however fast the threshold is dragged
    cancelAnimationFrame(stale);
    stale = requestAnimationFrame(() => { const kept = page; choose(); page = kept; show(); });
  });
  choose();
  const clear = () => { for (const field of [search, ...fields]) field.value = ""; };
  return { only(name) { filter.value = name; clear(); choose(); }, order: () => order };
}
