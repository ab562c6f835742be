"use strict";
/* The map of both collections. Drag to move, buttons, + and − to zoom, arrow keys to move, a click to explain a link.
   A linked object is one mark; its two ends are drawn for doubtful links and for the one that is pointed at or opened. */
function linkMap(root, data, names, threshold, open) {
  const c = data.column, canvas = root.querySelector("canvas"), tip = root.querySelector(".tip");
  const links = c.map_rank.length, most = 200;
  const at = Object.fromEntries(["a", "b", "both"].map((s) => [s, { x: c[`map_x_${s}`], y: c[`map_y_${s}`], row: c[`map_${s}`] }]));
  const shown = {}, view = { x: 0.5, y: 0.5, zoom: 1 };
  let size = [1, 1], hovered = null, chosen = null;
  // both axes are arbitrary, so a wide page is filled; not more than half as wide again as tall
  const wide = () => Math.min(size[0], 1.5 * size[1]) * 0.94 * view.zoom;
  const tall = () => Math.min(size[1], 1.5 * size[0]) * 0.94 * view.zoom;
  const px = (x) => size[0] / 2 + (x / 65535 - view.x) * wide();
  const py = (y) => size[1] / 2 + (y / 65535 - view.y) * tall();
  for (const box of root.querySelectorAll("[data-show]")) {
    shown[box.dataset.show] = box.checked;
    box.addEventListener("change", () => { shown[box.dataset.show] = box.checked; again(); });
  }
  const doubtful = [], sure = [];
  for (let i = 0; i < links; i++) (c.probability[c.map_rank[i]] / 65535 < data.facts.sure ? doubtful : sure).push(i);
  const some = (all) => all.filter((_, i) => Math.floor((i * most) / all.length) !== Math.floor(((i - 1) * most) / all.length));
  const lined = { doubtful: doubtful.length > most ? some(doubtful) : doubtful, links: sure.length > most ? some(sure) : sure };
  const unsure = new Uint8Array(links);
  doubtful.forEach((i) => { unsure[i] = 1; });
  const kept = (i) => c.map_rank[i] < threshold.k;
  const visible = (side, i) => (side === "both" ? kept(i) && shown[unsure[i] ? "doubtful" : "both"] : i >= links && shown[`alone-${side}`]);
  const ground = shading(data, at, links);
  const mark = (pen, kind, x, y, r) => {
    pen.beginPath();
    if (kind === "b") pen.rect(x - 0.85 * r, y - 0.85 * r, 1.7 * r, 1.7 * r);
    else if (kind === "unsure") { pen.moveTo(x, y - 1.4 * r); pen.lineTo(x + 1.4 * r, y); pen.lineTo(x, y + 1.4 * r); pen.lineTo(x - 1.4 * r, y); pen.closePath(); }
    else pen.arc(x, y, r, 0, 7);
  };
  const line = (pen, i) => {
    pen.moveTo(px(at.a.x[i]), py(at.a.y[i]));
    pen.lineTo(px(at.both.x[i]), py(at.both.y[i])); // by way of the object's own mark
    pen.lineTo(px(at.b.x[i]), py(at.b.y[i]));
  };
  const ends = (pen, all, name, r) => {
    pen.strokeStyle = colour(name); pen.lineWidth = 1.1; pen.globalAlpha = 0.55; pen.beginPath();
    all.forEach((i) => { if (kept(i)) line(pen, i); });
    pen.stroke();
    pen.globalAlpha = 1;
    for (const side of ["a", "b"]) {
      pen.fillStyle = colour(side);
      for (const i of all) if (kept(i)) { mark(pen, side, px(at[side].x[i]), py(at[side].y[i]), r); pen.fill(); }
    }
  };
  const again = drawing(canvas, 0, (pen, width, height) => {
    size = [width, height];
    const r = Math.min(5, 2.2 * Math.sqrt(view.zoom));
    if (shown.density) ground(pen, px, py);
    for (const side of ["a", "b"]) {
      const { x, y } = at[side];
      pen.strokeStyle = colour(side); pen.lineWidth = 1; pen.globalAlpha = 0.5;
      if (shown[`alone-${side}`]) for (let i = links; i < x.length; i++) { mark(pen, side, px(x[i]), py(y[i]), 0.85 * r); pen.stroke(); }
    }
    pen.fillStyle = colour("both"); pen.globalAlpha = 0.9;
    if (shown.both) for (const i of sure) if (kept(i)) { mark(pen, "both", px(at.both.x[i]), py(at.both.y[i]), r); pen.fill(); }
    if (shown.links) ends(pen, lined.links, "soft", 0.8 * r);
    if (shown.doubtful) {
      ends(pen, lined.doubtful, "unsure", 0.8 * r);
      pen.fillStyle = colour("unsure");
      for (const i of doubtful) if (kept(i)) { mark(pen, "unsure", px(at.both.x[i]), py(at.both.y[i]), 1.15 * r); pen.fill(); }
    }
    pen.globalAlpha = 1;
    for (const each of [chosen, hovered]) if (each) point(pen, each, r);
  });
  function point(pen, { side, i }, r) {
    const linked = side === "both";
    pen.strokeStyle = colour("ink"); pen.lineWidth = 2; pen.beginPath();
    if (linked) line(pen, i);
    pen.stroke();
    for (const end of linked ? ["a", "b"] : [side]) {
      pen.fillStyle = colour(end);
      mark(pen, end, px(at[end].x[i]), py(at[end].y[i]), r + 2.5); pen.fill(); pen.stroke();
    }
    if (linked) { pen.fillStyle = colour(unsure[i] ? "unsure" : "both"); mark(pen, unsure[i] ? "unsure" : "both", px(at.both.x[i]), py(at.both.y[i]), r + 2.5); pen.fill(); pen.stroke(); }
  }
  const nearest = (x, y) => {
    let best = null, gap = 144;
    for (const side of ["both", "a", "b"]) for (let i = side === "both" ? 0 : links; i < at[side].x.length; i++) {
      if (!visible(side, i)) continue;
      const dx = px(at[side].x[i]) - x, dy = py(at[side].y[i]) - y, far = dx * dx + dy * dy;
      if (far < gap) { gap = far; best = { side, i }; }
    }
    return best;
  };
  const zoom = (factor, x = size[0] / 2, y = size[1] / 2) => {
    const wx = view.x + (x - size[0] / 2) / wide(), wy = view.y + (y - size[1] / 2) / tall();
    view.zoom = Math.min(40, Math.max(0.8, view.zoom * factor));
    view.x = wx - (x - size[0] / 2) / wide(); view.y = wy - (y - size[1] / 2) / tall();
    again();
  };
  const move = (x, y) => { view.x -= x / wide(); view.y -= y / tall(); again(); };
  const reset = () => { Object.assign(view, { x: 0.5, y: 0.5, zoom: 1 }); again(); };
  root.querySelector("[data-zoom=in]").addEventListener("click", () => zoom(1.5));
  root.querySelector("[data-zoom=out]").addEventListener("click", () => zoom(1 / 1.5));
  root.querySelector("[data-zoom=all]").addEventListener("click", reset);
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return; // a plain wheel scrolls the page
    event.preventDefault();
    zoom(Math.exp(-event.deltaY / 300), event.offsetX, event.offsetY);
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const keys = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
    if (keys[event.key]) move(...keys[event.key]);
    else if (event.key === "+" || event.key === "=") zoom(1.5);
    else if (event.key === "-") zoom(1 / 1.5);
    else if (event.key === "0") reset();
    else return;
    event.preventDefault();
  });
  let held = null, dragged = false;
  canvas.addEventListener("pointerdown", (event) => {
    held = [event.offsetX, event.offsetY];
    dragged = false;
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointerup", () => {
    if (!dragged && hovered && hovered.side === "both") open(c.map_rank[hovered.i]);
    held = null;
  });
  canvas.addEventListener("pointermove", (event) => {
    const here = [event.offsetX, event.offsetY];
    if (held && (dragged || Math.hypot(here[0] - held[0], here[1] - held[1]) > 3)) {
      move(here[0] - held[0], here[1] - held[1]);
      held = here; dragged = true; tip.hidden = true;
      return;
    }
    hovered = nearest(...here);
    tip.hidden = !hovered;
    if (hovered) describe(hovered, here);
    again();
  });
  canvas.addEventListener("pointerleave", () => { hovered = null; tip.hidden = true; again(); });
  function describe({ side, i }, [x, y]) {
    const soft = { class: "soft" }, name = (own) => { const { id, title } = names(own, at[own].row[i]); return title || id; };
    const lines = side !== "both" ? [element("strong", {}, name(side)), element("div", soft, `only in ${side.toUpperCase()}: not linked`)]
      : ["a", "b"].map((own) => element("div", {}, element("span", soft, `in ${own.toUpperCase()}: `), element("strong", {}, name(own))));
    if (side === "both") {
      lines.push(element("div", soft, `probability ${chances(c.probability[c.map_rank[i]] / 65535)} · click to explain`));
    }
    tip.replaceChildren(...lines);
    tip.style.left = `${Math.min(x + 16, Math.max(8, size[0] - tip.offsetWidth - 8))}px`;
    tip.style.top = `${y + 16 + tip.offsetHeight > size[1] ? Math.max(8, y - tip.offsetHeight - 12) : y + 16}px`;
  }
  threshold.follow(again);
  return {
    /* marks the link of that rank, where it is on the map */
    choose(rank) {
      const i = c.map_rank.indexOf(rank);
      chosen = i < 0 ? null : { side: "both", i };
      again();
    },
  };
}

/* Which share of the objects around a place is linked, as a soft picture; a sampled mark stands for those left out. */
function shading(data, at, links) {
  const n = 96, edge = 12, inner = n - 2 * edge, [aloneA, aloneB] = data.facts.unlinked; // the edge is for the blur
  const fields = { both: new Float32Array(n * n), all: new Float32Array(n * n) };
  const cell = (v) => edge + Math.min(inner - 1, (v * inner) >> 16);
  const add = (name, { x, y }, from, to, weight) => { for (let i = from; i < to; i++) fields[name][cell(y[i]) * n + cell(x[i])] += weight; };
  const each = links ? data.facts.kept / links : 0;
  add("both", at.both, 0, links, each); add("all", at.both, 0, links, each);
  add("all", at.a, links, at.a.x.length, aloneA / Math.max(1, at.a.x.length - links));
  add("all", at.b, links, at.b.x.length, aloneB / Math.max(1, at.b.x.length - links));
  for (const name of ["both", "all"]) for (let turn = 0; turn < 3; turn++) fields[name] = blurred(fields[name], n, 2);
  const thick = Float32Array.from(fields.all).sort()[Math.floor(0.7 * n * n)] || 1, picture = document.createElement("canvas");
  picture.width = picture.height = n;
  let tint = null;
  return (pen, px, py) => {
    const wanted = colour("both");
    if (tint !== wanted) {
      tint = wanted;
      const brush = picture.getContext("2d"), image = brush.createImageData(n, n);
      const [red, green, blue] = [1, 3, 5].map((i) => parseInt(wanted.slice(i, i + 2), 16));
      for (let i = 0; i < n * n; i++) {
        const share = fields.both[i] / Math.max(fields.all[i], 1e-9), there = Math.min(1, fields.all[i] / thick);
        image.data.set([red, green, blue, 255 * 0.5 * there * share], 4 * i);
      }
      brush.putImageData(image, 0, 0);
    }
    const out = (65536 * edge) / inner;
    pen.imageSmoothingEnabled = true; pen.imageSmoothingQuality = "high";
    pen.drawImage(picture, px(-out), py(-out), px(65536 + out) - px(-out), py(65536 + out) - py(-out));
  };
}

function blurred(field, n, reach) {
  const rows = new Float32Array(n * n), out = new Float32Array(n * n), wide = 2 * reach + 1;
  const pass = (from, to, step, next) => {
    for (let line = 0; line < n; line++) for (let i = 0; i < n; i++) {
      let sum = 0;
      for (let d = -reach; d <= reach; d++) { const j = i + d; if (j >= 0 && j < n) sum += from[line * next + j * step]; }
      to[line * next + i * step] = sum / wide;
    }
  };
  pass(field, rows, 1, n); pass(rows, out, n, 1);
  return out;
}
