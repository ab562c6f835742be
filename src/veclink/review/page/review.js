// The review page: asks the server for a link, shows it, sends the answer. All text from payloads goes in as text nodes.
"use strict";

const $ = (id) => document.getElementById(id);
const percent = (share, digits = 1) => `${(100 * share).toFixed(digits)} %`;
const SAID = { accept: "Accepted", reject: "Rejected", skip: "Skipped" };
const SIGN = { accept: "✓", reject: "✗", skip: "↷" };

// Survives a reload; a second tab gets its own, so that neither undoes what the other did.
const tab = sessionStorage.getItem("tab") || crypto.randomUUID();
sessionStorage.setItem("tab", tab);

let current = null; // the link on the page
let state = null;
let busy = false; // an answer is on its way: keys wait until its successor is on the page
let skipped = false; // going through the skipped ones

function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "onclick") made.addEventListener("click", value);
    else if (value !== null && value !== false) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

async function ask(path, body) {
  const options = body
    ? { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ tab, ...body }) }
    : {};
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Error("The server does not answer. Every answer that was counted is saved; " +
      "start veclink review again and open the address it prints.");
  }
  const told = await answer.json().catch(() => ({}));
  if (answer.status === 404 && !told.error) throw new Error("This page is of an earlier run; open the address that veclink review printed last.");
  if (!answer.ok) throw Object.assign(new Error(told.error || `The server said ${answer.status}.`), { status: answer.status });
  return told;
}

function alertWith(message) {
  $("alert").textContent = message || "";
  $("alert").hidden = !message;
}

function setBusy(now) {
  busy = now;
  document.querySelector("main").setAttribute("aria-busy", now);
}

// One thing at a time; whatever goes wrong is said on the page.
async function alone(work) {
  if (busy) return;
  setBusy(true);
  try {
    alertWith("");
    await work();
  } catch (error) {
    alertWith(error.message);
  } finally {
    setBusy(false);
  }
}

async function showNext() {
  const told = await ask(`api/next?tab=${tab}&order=${$("order").value}&skipped=${skipped}`);
  showState(told.state);
  showLink(told.link);
}

const give = (answer, instead = null) => alone(async () => {
  if (!current) return;
  const { link, generation, seen } = current;
  try {
    const told = await ask("api/answer", { link, generation, seen, answer, instead });
    showState(told.state);
    announce(instead ? "Took the rival instead" : SAID[answer]);
  } catch (error) {
    if (error.status !== 409) throw error;
    await showNext(); // overtaken by another tab: go on, and say so
    throw error;
  }
  await showNext();
});

const undo = () => alone(async () => {
  const told = await ask("api/undo", {});
  showState(told.state);
  if (told.link) showLink(told.link);
  announce(told.undone ? "Undone" : "There is nothing to undo");
  if (!told.undone) alertWith("There is nothing to undo in this tab.");
});

const open = (link) => alone(async () => {
  const told = await ask(`api/link/${link}?tab=${tab}`);
  showState(told.state);
  showLink(told.link);
});

const again = (what) => alone(async () => {
  const told = await ask(`api/again/${what}`, {});
  showState(told.state);
  if (what === "take") { skipped = false; await showNext(); }
});

function announce(what) {
  $("said").textContent = `${what}. ${current ? `Is ${current.a.headline} the same as ${current.b.headline}?` : ""}`;
}

function showLink(link) {
  current = link;
  $("card").hidden = !link;
  $("finished").hidden = Boolean(link);
  if (!link) return showFinished();
  $("sure").replaceChildren("The linker says ", el("strong", {}, percent(link.probability)));
  $("name-a").textContent = link.a.name;
  $("name-b").textContent = link.b.name;
  $("notes").replaceChildren(...link.notes.map((note) => el("p", {}, note)));
  const fields = link.fields.length ? link.fields : [{ name: "id", a: link.a.name, b: link.b.name }];
  const headline = (field) => field.a === link.a.headline && field.b === link.b.headline;
  const ordered = [...fields.filter(headline), ...fields.filter((field) => !headline(field))];
  $("fields").replaceChildren(...ordered.map((field, i) => fieldRow(field, i === 0 && headline(field))));
  $("compared").textContent = compared(link);
  $("rivals").replaceChildren(...rivals(link));
  $("why").replaceChildren(...link.why.flatMap((row) => [el("dt", {}, row.what), el("dd", {}, row.value)]));
  $("nearest").replaceChildren(...nearest(link));
  for (const answer of ["accept", "reject", "skip"]) $(answer).setAttribute("aria-pressed", link.answer === answer);
  window.scrollTo(0, 0);
  markBand();
}

function fieldRow(field, isHeadline) {
  const cell = (own, other) => {
    if (own === null) return el("td", { class: "missing" }, "–");
    const text = other && own !== other ? differing(own, other) : [own];
    return el("td", {}, own.length > 600 ? el("div", { class: "long", tabindex: "0" }, ...text) : el("div", {}, ...text));
  };
  return el("tr", { class: isHeadline ? "headline" : null }, el("th", { scope: "row" }, field.name),
    cell(field.a, field.b), cell(field.b, field.a));
}

// One line that saves comparing what is equal.
function compared(link) {
  if (!link.fields.length) return "These collections have no payload: the ids are all there is to see.";
  const [both, other] = [link.fields.filter((field) => field.a !== null && field.b !== null), (field) => field.a !== field.b];
  if (!both.length) return "No field is filled on both sides.";
  const unlike = both.filter(other).map((field) => field.name);
  if (!unlike.length) return both.length === 1 ? `${both[0].name} is the same on both sides.` : `All ${both.length} fields are the same on both sides.`;
  return unlike.length === both.length ? "No field is the same on both sides." : `Different: ${unlike.join(", ")}.`;
}

// The words of `own` that `other` does not have, marked.
function differing(own, other) {
  const plain = (word) => word.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");
  const there = new Set(other.split(/\s+/).map(plain));
  return own.split(/(\s+)/).map((word) => (plain(word) && !there.has(plain(word)) ? el("mark", {}, word) : word));
}

function rivals(link) {
  if (!link.rivals.length) return [el("p", {}, "These links do not say which other partners were considered.")];
  return [...link.rivals].sort((x, y) => (x.side < y.side ? -1 : 1)).map((rival, i) => {
    const against = rival.side === "a" ? link.b : link.a;
    const rest = Object.values(rival.payload).filter((value) => value && value !== rival.headline && value.length < 60);
    const linked = rival.linked
      ? `linked elsewhere (${percent(rival.linked.probability)}) with ` +
        (rival.linked.headline === rival.headline ? "the same title" : `“${rival.linked.headline}”`)
      : "not linked elsewhere";
    return el("div", { class: "rival" },
      el("h4", {}, rival.side === "a" ? "In A, next best for B’s object" : "In B, next best for A’s object"),
      el("div", {}, ...differing(rival.headline, against.headline)),
      el("div", { class: "more" }, [rival.name, ...rest].join(" · ")),
      el("div", { class: "score" }, `${rival.score === null ? "" : `score ${rival.score.toFixed(2)}, `}${linked}`),
      el("button", { type: "button", onclick: () => give("reject", rival.side) }, "Take this instead ", el("kbd", {}, String(i + 1))));
  });
}

function nearest(link) {
  if (!link.nearest.length) return [];
  const row = (near) => el("tr", {}, el("td", {}, near.a), el("td", {}, near.a === near.b ? "the same" : near.b),
    el("td", {}, near.similarity === null ? "–" : near.similarity.toFixed(2)));
  return [el("table", {}, el("caption", {}, "The nearest other links"),
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "in A"), el("th", { scope: "col" }, "in B"), el("th", { scope: "col" }, "similarity"))),
    el("tbody", {}, ...link.nearest.map(row)))];
}

function showFinished() {
  $("show-skipped").hidden = skipped || !state.skipped;
  $("finished-text").textContent = !state.links ? "There are no links in this file."
    : state.open ? `The last ${state.open} are on the page in another tab.`
    : state.skipped ? `Every link has an answer, but for ${state.skipped} that you skipped.` : "Every link has an answer.";
}

function showState(told) {
  if (state && told.generation !== state.generation && current) current.generation = -1; // overtaken: will be said
  state = told;
  document.title = `${told.accepted + told.rejected} of ${told.links} · veclink review`;
  $("file").textContent = `${told.name} · ${told.sizes.map((n) => n.toLocaleString("en")).join(" × ")} vectors · ${told.verdict}`;
  const doubtful = told.bands.filter((band) => band.doubtful);
  const sum = (bands, key) => bands.reduce((total, band) => total + band[key], 0);
  const answered = sum(doubtful, "right") + sum(doubtful, "wrong");
  $("progress").textContent = `${told.accepted + told.rejected} of ${told.links.toLocaleString("en")} answered, ` +
    `${answered} of ${sum(doubtful, "links")} doubtful ones`;
  showEstimate(told);
  $("bands").tBodies[0].replaceChildren(...told.bands.map((band) => el("tr", { "data-band": band.label },
    el("th", { scope: "row" }, band.label), el("td", {}, band.links.toLocaleString("en")), el("td", {}, String(band.right + band.wrong)),
    el("td", {}, band.right + band.wrong ? percent(band.right / (band.right + band.wrong), 0) : "–"))));
  markBand();
  $("recent").replaceChildren(...told.recent.map((each) => el("li", {}, el(each.link === null ? "div" : "button",
    { type: "button", title: `${SAID[each.answer]}: ${each.title}`, onclick: () => each.link !== null && open(each.link) },
    el("span", { class: each.answer }, SIGN[each.answer], el("span", { class: "unseen" }, SAID[each.answer])),
    el("span", { class: "title" }, each.title)))));
  showAgain(told);
}

function showEstimate({ estimate, before }) {
  if (!estimate) return;
  const low = Math.min(0.9, Math.floor(10 * Math.min(estimate.low, before.low)) / 10);
  const at = (share) => `${(100 * (share - low)) / (1 - low)}%`;
  $("precision").replaceChildren(percent(estimate.precision),
    el("small", {}, `95 % interval: ${percent(estimate.low)} to ${percent(estimate.high)}`));
  $("interval").style.left = at(estimate.low);
  $("interval").style.width = `${(100 * (estimate.high - estimate.low)) / (1 - low)}%`;
  $("point").style.left = at(estimate.precision);
  $("prior").style.left = at(before.precision);
  $("scale").setAttribute("aria-label", `${percent(estimate.precision)}, between ${percent(estimate.low)} and ` +
    `${percent(estimate.high)}; before any answer ${percent(before.precision)}`);
  const ends = $("scale-ends").children;
  ends[0].textContent = percent(low, 0);
  ends[1].textContent = "100 %";
  $("precision-text").textContent = estimate.answered
    ? `From ${estimate.answered} answer${estimate.answered === 1 ? "" : "s"}; ${percent(before.precision)} before (dotted).`
    : "From the linker’s probabilities alone; your answers will move it.";
}

function showAgain({ again: run, taken, seeds }) {
  const running = run.phase === "running";
  $("again").hidden = run.phase === "done";
  $("again").disabled = running || !taken;
  $("stop").hidden = !running;
  $("take").hidden = run.phase !== "done";
  $("again-bar").hidden = !running;
  const text = running ? `${run.stage}${run.step ? `, round ${run.step}, ${run.links.toLocaleString("en")} pairs` : ""}, ${Math.round(run.seconds)} s`
    : run.phase === "idle" ? (taken ? `${seeds} seeds: what you accepted, and what was given.` : "Accept some links first.") : run.message;
  if ($("again-text").textContent !== text) $("again-text").textContent = text;
}

function markBand() {
  for (const row of $("bands").tBodies[0].rows) row.className = current && row.dataset.band === current.band ? "here" : "";
}

const KEYS = { a: () => give("accept"), ArrowRight: () => give("accept"), r: () => give("reject"), ArrowLeft: () => give("reject"),
  s: () => give("skip"), u: undo, 1: () => takeRival(0), 2: () => takeRival(1) };
function takeRival(place) {
  const buttons = $("rivals").querySelectorAll("button");
  if (buttons[place]) buttons[place].click();
}
document.addEventListener("keydown", (event) => {
  // a key held down would answer links that nobody has seen
  if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || !$("keys").checked) return;
  if (event.target.closest("select, input:not([type=checkbox]), textarea")) return;
  const work = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!work) return;
  event.preventDefault();
  work();
});

for (const answer of ["accept", "reject", "skip"]) $(answer).addEventListener("click", () => give(answer));
$("undo").addEventListener("click", undo);
$("undo-finished").addEventListener("click", undo);
$("again").addEventListener("click", () => again("start"));
$("stop").addEventListener("click", () => again("stop"));
$("take").addEventListener("click", () => again("take"));
$("show-skipped").addEventListener("click", () => { skipped = true; alone(showNext); });
$("order").addEventListener("change", () => { skipped = false; alone(showNext); });
window.addEventListener("pagehide", () => navigator.sendBeacon("api/leave", new Blob([JSON.stringify({ tab })], { type: "application/json" })));

// Other tabs answer too, linking goes on, and a server may die: look now and then.
async function look() {
  if (!busy) {
    try {
      const told = await ask(`api/state?tab=${tab}`);
      if (!busy) showState(told);
      if ($("alert").dataset.lost) { alertWith(""); delete $("alert").dataset.lost; }
    } catch (error) {
      alertWith(error.message);
      $("alert").dataset.lost = "yes";
    }
  }
  setTimeout(look, state && state.again.phase === "running" ? 500 : 2000);
}
alone(showNext).then(() => setTimeout(look, 1000));
