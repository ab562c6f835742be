"use strict";
/* The map of both collections. Drag to move, buttons, + and − to zoom, arrow keys to move, a click to explain a link. */
function linkMap(root, data, names, open) {
  const c = data.column, canvas = root.querySelector("canvas"), tip = root.querySelector(".tip");
  if (!c.map_rank) return;
  const links = c.map_rank.length, sides = ["a", "b"];
  const at = Object.fromEntries(sides.map((s) => [s, { x: c[`map_x_${s}`], y: c[`map_y_${s}`], row: c[`map_${s}`] }]));
  const shown = {}, view = { x: 0.5, y: 0.5, zoom: 1 };
  let size = [1, 1], hovered = null;
  // both axes are arbitrary, so a wide page is filled; not more than half as wide again as tall
  const wide = () => Math.min(size[0], 1.5 * size[1]) * 0.94 * view.zoom, tall = () => Math.min(size[1], 1.5 * size[0]) * 0.94 * view.zoom;
  const px = (x) => size[0] / 2 + (x / 65535 - view.x) * wide(), py = (y) => size[1] / 2 + (y / 65535 - view.y) * tall();
  for (const box of root.querySelectorAll("[data-show]")) {
    shown[box.dataset.show] = box.checked;
    box.addEventListener("change", () => { shown[box.dataset.show] = box.checked; again(); });
  }
  const visible = (side, i) => (i < links ? shown[`linked-${side}`] : shown[`alone-${side}`]);
  const mark = (pen, side, x, y, r) => {
    pen.beginPath();
    if (side === "a") pen.arc(x, y, 1.3 * r, 0, 7); else pen.rect(x - 0.85 * r, y - 0.85 * r, 1.7 * r, 1.7 * r); // so that A shows behind B
  };
  const again = drawing(canvas, 0, (pen, width, height) => {
    size = [width, height];
    const r = Math.min(5, 2.1 * Math.sqrt(view.zoom));
    if (shown.links) {
      pen.strokeStyle = colour("soft"); pen.lineWidth = 1; pen.globalAlpha = 0.55; pen.beginPath();
      for (let i = 0; i < links; i++) { pen.moveTo(px(at.a.x[i]), py(at.a.y[i])); pen.lineTo(px(at.b.x[i]), py(at.b.y[i])); }
      pen.stroke();
    }
    for (const side of sides) {
      const { x, y } = at[side];
      pen.fillStyle = pen.strokeStyle = colour(side); pen.lineWidth = 1;
      for (let i = x.length - 1; i >= 0; i--) {
        if (!visible(side, i)) continue;
        pen.globalAlpha = i < links ? 0.85 : 0.5;
        mark(pen, side, px(x[i]), py(y[i]), r);
        if (i < links) pen.fill(); else pen.stroke();
      }
    }
    pen.globalAlpha = 1;
    if (hovered) {
      pen.strokeStyle = colour("ink"); pen.lineWidth = 2;
      const ends = hovered.i < links ? sides : [hovered.side];
      if (ends.length === 2) { pen.beginPath(); ends.forEach((s) => pen.lineTo(px(at[s].x[hovered.i]), py(at[s].y[hovered.i]))); pen.stroke(); }
      for (const s of ends) { pen.fillStyle = colour(s); mark(pen, s, px(at[s].x[hovered.i]), py(at[s].y[hovered.i]), r + 3); pen.fill(); pen.stroke(); }
    }
  });
  const nearest = (x, y) => {
    let best = null, gap = 144;
    for (const side of sides) for (let i = 0; i < at[side].x.length; i++) {
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
  canvas.addEventListener("pointerdown", (event) => { held = [event.offsetX, event.offsetY]; dragged = false; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointerup", () => {
    if (!dragged && hovered && hovered.i < links) open(c.map_rank[hovered.i]);
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
    const linked = i < links, own = names(side, at[side].row[i]);
    const lines = [element("strong", {}, own.title || own.id), element("div", { class: "soft" }, `in ${side.toUpperCase()}, ${linked ? "linked with" : "not linked"}`)];
    if (linked) {
      const other = side === "a" ? "b" : "a", partner = names(other, at[other].row[i]);
      lines.push(element("strong", {}, partner.title || partner.id), element("div", { class: "soft" }, `probability ${chances(c.probability[c.map_rank[i]] / 65535)} · click to explain`));
    }
    tip.replaceChildren(...lines);
    tip.style.left = `${Math.min(x + 16, Math.max(8, size[0] - tip.offsetWidth - 8))}px`;
    tip.style.top = `${y + 16 + tip.offsetHeight > size[1] ? Math.max(8, y - tip.offsetHeight - 12) : y + 16}px`;
  }
}
