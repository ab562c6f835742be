// What htmx leaves to do: keys, and telling when the server is gone. The server makes all HTML.
"use strict";

const $ = (id) => document.getElementById(id);
const main = document.querySelector("main");
const on = (name, work) => document.addEventListener(name, work);
const isPoll = (event) => event.detail.requestConfig.elt.id === "poll";

const KEYS = { a: "accept", ArrowRight: "accept", r: "reject", ArrowLeft: "reject", s: "skip", u: "undo", 1: "rival-1", 2: "rival-2" };
on("keydown", (event) => {
  // a key held down would answer links that nobody has seen
  if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || !$("keys").checked) return;
  if (event.target.closest("select, input:not([type=checkbox]), textarea")) return;
  const button = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!button) return;
  event.preventDefault();
  $(button)?.click();
});

// lost: to be taken back when the server answers again
function alertWith(message, lost = false) {
  if ($("alert").textContent !== message) $("alert").textContent = message;
  $("alert").dataset.lost = lost;
}
on("htmx:beforeRequest", (event) => {
  if (isPoll(event)) return;
  main.setAttribute("aria-busy", "true");
  alertWith("");
});
on("htmx:afterRequest", (event) => {
  if (!isPoll(event)) main.setAttribute("aria-busy", "false");
  if (event.detail.successful && $("alert").dataset.lost === "true") alertWith("");
});
on("htmx:sendError", () => alertWith("The server does not answer. Every answer that was counted is saved; " +
  "start veclink review again and open the address it prints.", true));
on("htmx:responseError", (event) => {
  const { status } = event.detail.xhr;
  alertWith(status === 404 ? "This page is of an earlier run; open the address that veclink review printed last."
    : `The server said ${status}.`, isPoll(event));
});

// What is as it was stays in place: a list keeps its focus, a bar goes on moving, and nothing is read out twice.
on("htmx:oobBeforeSwap", ({ detail }) => {
  const told = detail.fragment.id ? detail.fragment : detail.fragment.firstElementChild;
  if (detail.target.isEqualNode(told)) detail.shouldSwap = false;
});
