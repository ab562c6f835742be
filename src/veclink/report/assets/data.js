"use strict";
/* Reads what `pack` in `report/content.py` wrote: {…texts, facts, column: {name: typed array or Float32Array}}. */
async function readData() {
  const coded = document.getElementById("data").textContent.trim();
  const bytes = Uint8Array.fromBase64 ? Uint8Array.fromBase64(coded) : bytesOf(atob(coded));
  const buffer = await inflated(bytes);
  const length = new DataView(buffer).getUint32(0, true);
  const data = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const first = Math.ceil((4 + length) / 8) * 8;
  const kinds = {
    uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, int16: Int16Array, int32: Int32Array, float64: Float64Array,
  };
  data.column = {};
  for (const [name, { type, at, length: n, factor }] of Object.entries(data.columns)) {
    const raw = new kinds[type](buffer, first + at, n);
    data.column[name] = factor ? numbers(raw, factor) : raw;
  }
  return data;
}

async function inflated(bytes) {
  const stream = new DecompressionStream("deflate"), parts = [];
  const writer = stream.writable.getWriter(), reader = stream.readable.getReader();
  const written = writer.write(bytes).then(() => writer.close()); // in one piece: cutting it up costs more than it saves
  let length = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    parts.push(part.value);
    length += part.value.length;
  }
  await written;
  const whole = new Uint8Array(length);
  let place = 0;
  for (const part of parts) { whole.set(part, place); place += part.length; }
  return whole.buffer;
}

function numbers(raw, factor) {
  const values = new Float32Array(raw.length);
  for (let i = 0; i < raw.length; i++) values[i] = raw[i] === -32768 ? NaN : raw[i] * factor;
  return values;
}

function bytesOf(text) {
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

/* What is thought of the k surest pairs: the same sums as in `confidence/intervals.py`. */
function estimator(data) {
  const { facts } = data;
  const p = data.column.probability;
  const sums = new Float64Array(p.length + 1);
  for (let i = 0; i < p.length; i++) sums[i + 1] = sums[i] + p[i] / 65535;
  const { caution, chance } = facts, shared = facts.overlap || 0;
  const [fewest, most] = facts.shared || [shared / caution, shared * caution];
  const share = (x) => Math.min(1, Math.max(0, x));
  return {
    count: p.length,
    probability: (rank) => p[rank] / 65535,
    at(k) {
      const right = sums[k], wrong = k - right, luck = chance * Math.sqrt(Math.max(wrong, 0));
      const low = wrong - Math.hypot(wrong * (1 - 1 / caution), luck), high = wrong + Math.hypot(wrong * (caution - 1), luck);
      return {
        k, wrong,
        least: k ? p[k - 1] / 65535 : 1,
        precision: [right / k, share((k - high) / k), share((k - low) / k)],
        recall: shared ? [share(right / shared), share((k - high) / most), share((k - low) / fewest)] : null,
        f1: shared ? share((2 * right) / (k + shared)) : null,
      };
    },
    /* how many are at least as probable as x */
    above(x) {
      let low = 0, high = p.length;
      const wanted = x * 65535;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (p[middle] >= wanted) low = middle + 1; else high = middle;
      }
      return low;
    },
    /* as `Links.at(precision=…)` chooses */
    forPrecision(wanted) {
      let kept = 0;
      while (kept < p.length && (1 - sums[kept + 1] / (kept + 1)) * facts.caution <= 1 - wanted + 1e-9) kept++;
      return kept;
    },
  };
}

const percent = (share, digits = 1) => `${(100 * share).toFixed(digits)} %`;
const fixed = (x) => x.toFixed(2).replace("-", "−");
const whole = (n) => Math.round(n).toLocaleString("en");

/* Probabilities near 1 differ in what is left: 0.99 and 0.999 are not the same. */
function chances(p) {
  if (p >= 0.9995) return "> 0.999";
  if (p < 0.0005) return "< 0.001";
  return p > 0.985 || p < 0.015 ? p.toFixed(3) : p.toFixed(2);
}

/* An element with text; nothing here is ever read as HTML. */
function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (key === "class") made.className = value;
    else if (key in made && typeof value !== "string") made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

/* A table from texts; the columns at the places `right` hold numbers, and a row may begin with its name. */
function tableOf(heads, rows, { right = [], named = false } = {}) {
  const kind = (i) => ({ "data-label": heads[i].toLowerCase(), ...(right.includes(i) ? { class: "number-cell" } : {}) });
  const head = element("tr", {}, ...heads.map((text, i) => element("th", { scope: "col", ...kind(i) }, text)));
  const body = rows.map((cells) => element("tr", {}, ...cells.map((text, i) =>
    (named && i === 0 ? element("th", { scope: "row" }, text) : element("td", kind(i), text)))));
  return element("table", { class: "stack" }, element("thead", {}, head), element("tbody", {}, ...body));
}
