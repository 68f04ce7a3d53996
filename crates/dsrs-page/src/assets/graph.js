// The view of a graph: shows a selected node beside the picture without a reload.

import { fetchPart, follow } from "./live_form.js";
import { select } from "./drawing.js";

const NARROW = 1000;
let running = null;

async function show(href, isFocused) {
  running?.abort();
  const request = (running = new AbortController());
  const panel = document.querySelector("#node");
  panel.setAttribute("aria-busy", "true");
  try {
    const next = document.adoptNode(await fetchPart(href, { signal: request.signal }, "#node"));
    panel.replaceWith(next);
    next.querySelectorAll("form[data-live]").forEach(follow);
    next.querySelectorAll("[data-script]").forEach((element) => { element.hidden = false; });
    if (isFocused || innerWidth < NARROW) next.focus({ preventScroll: innerWidth >= NARROW });
  } catch (error) {
    if (error.name !== "AbortError") location.assign(href);
  }
}

document.addEventListener("node-select", (event) => {
  event.preventDefault();
  show(event.detail.href, false);
});

// Back to the whole definition.
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[data-no-node]");
  if (!link || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const href = link.getAttribute("href");
  history.replaceState(null, "", href);
  document.querySelectorAll("figure.drawing").forEach((figure) => select(figure, null));
  show(href, true);
});
