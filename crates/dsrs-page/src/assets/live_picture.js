// The picture beside the text: replaced when the definition changes, with the problems of nodes and edges marked, and one
// part selected. Knows how the server draws: `data-node`, `data-port` with `data-side`, `data-edge`.

import { element, svgElement } from "./element.js";
import { send } from "./api.js";

/**
 * Dispatches `select` with `{node}`, `{edge: {from, to}}`, `{port}` or nothing; `first` with the
 * width of the first picture; `drawn` when it was replaced. */
export class LivePicture extends EventTarget {
  constructor(root) {
    super();
    this.root = root;
    this.selected = undefined;
    this.problems = [];
    root.addEventListener("click", (event) => this.clicked(event));
    root.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") this.clicked(event);
    });
  }

  /** Draws a definition; a later one replaces a request that is not answered. Answers the fields of the nodes. */
  async draw(text) {
    this.request?.abort();
    const request = (this.request = new AbortController());
    const { value } = await send("POST", "/drawing", { body: text, signal: request.signal });
    this.show(value.svg);
    return value.ports;
  }

  show(markup) {
    const parsed = new DOMParser().parseFromString(markup, "text/html");
    const { scrollLeft, scrollTop } = this.root;
    this.root.replaceChildren(parsed.querySelector("svg.drawing-picture") ?? note("There is nothing to draw yet."));
    this.root.scrollTo(scrollLeft, scrollTop);
    if (!this.wasDrawn) this.dispatchEvent(new CustomEvent("first", { detail: { width: Number(this.root.querySelector("svg")?.getAttribute("width") ?? 0) } }));
    this.wasDrawn = true;
    this.makeReachable();
    this.mark(this.problems);
    this.select(this.selected, { isQuiet: true });
    if (this.awaited) this.reveal(this.awaited);
    this.awaited = undefined;
    this.dispatchEvent(new CustomEvent("drawn"));
  }

  /** Nodes, edges and fields of the border can be reached by keyboard. */
  makeReachable() {
    for (const found of this.root.querySelectorAll("[data-node], [data-edge], .border")) {
      if (found.querySelector("a")) continue;
      found.setAttribute("tabindex", "0");
      found.setAttribute("role", "button");
      found.setAttribute("aria-label", nameOf(found));
    }
  }

  clicked(event) {
    const target = event.target.closest("[data-node], [data-edge], .border, .toggle");
    if (target?.matches(".toggle") || event.target.closest("button")) return;
    if (!target && event.type === "keydown") return;
    if (event.target.closest("a") || event.type === "keydown") event.preventDefault();
    const part = target ? partOf(target) : undefined;
    this.select(part);
    if (part && event.type === "click") this.focus(part);
  }

  select(part, { isQuiet = false } = {}) {
    this.selected = part;
    for (const found of this.root.querySelectorAll(".selected")) found.classList.remove("selected");
    this.elementOf(part)?.classList.add("selected");
    if (!isQuiet) this.dispatchEvent(new CustomEvent("select", { detail: part }));
  }

  elementOf(part) {
    if (!part) return undefined;
    const all = (selector) => [...this.root.querySelectorAll(selector)];
    if (part.node !== undefined) return all("[data-node]").find((found) => found.dataset.node === part.node);
    if (part.port !== undefined) return all(".border").find((found) => found.dataset.port === part.port);
    if (part.edge) return all("[data-edge]").find((found) => isEdge(found, part.edge));
    return undefined;
  }

  focus(part) {
    const found = this.elementOf(part);
    (found?.querySelector("a") ?? found)?.focus({ preventScroll: true });
  }

  /** Scrolls the frame, and only the frame, so that a part is visible. */
  reveal(part) {
    const box = this.elementOf(part)?.getBoundingClientRect();
    if (!box) return;
    const frame = this.root.getBoundingClientRect();
    const by = (start, end, first, last) => (start < first ? start - first - 24 : end > last ? Math.min(end - last + 24, start - first - 24) : 0);
    this.root.scrollBy(by(box.left, box.right, frame.left, frame.right), by(box.top, box.bottom, frame.top, frame.bottom));
  }

  /** Selects a part that the next picture has. */
  await(part) {
    this.awaited = part;
    this.select(part);
  }

  /** Marks the parts that problems are about: `[{subject, detail}]`. */
  mark(problems) {
    this.problems = problems;
    for (const found of this.root.querySelectorAll(".has-problem")) {
      found.classList.remove("has-problem");
      found.querySelector(":scope > .problem-badge")?.remove();
    }
    for (const { subject, detail } of problems) {
      const part = subject.node !== undefined ? { node: subject.node } : subject.edge ? { edge: subject.edge }
        : subject.output !== undefined ? { port: `@output.${subject.output}` } : subject.input !== undefined ? { port: `input.${subject.input}` } : undefined;
      const found = this.elementOf(part);
      if (found) markOne(found, detail);
    }
  }

  /** While the text cannot be read, the picture is an older one. */
  setStale(isStale) {
    this.root.classList.toggle("stale", isStale);
  }
}

function markOne(found, detail) {
  found.classList.add("has-problem");
  const badge = found.querySelector(":scope > .problem-badge");
  if (badge) {
    badge.querySelector("title").textContent += `\n${detail}`;
    return;
  }
  const box = found.querySelector("rect, path").getBBox();
  const line = found.hasAttribute("data-edge") ? found.querySelector("path") : undefined;
  const middle = line?.getPointAtLength(line.getTotalLength() / 2);
  const [x, y] = middle ? [middle.x, middle.y] : [box.x + box.width - 2, box.y + 2];
  found.append(svgElement("g", { class: "problem-badge", transform: `translate(${x} ${y})` }, svgElement("circle", { r: 8 }), svgElement("text", { y: 4, "text-anchor": "middle" }, "!"), svgElement("title", {}, detail)));
}

function isEdge(found, { from, to }) {
  if (from === undefined || to === undefined) return false;
  const { from: drawn, to: end } = found.dataset;
  return end === to && (from === drawn || from.startsWith(`${drawn}.`) || from.startsWith(`${drawn}[`));
}

function partOf(found) {
  if (found.dataset.node !== undefined) return { node: found.dataset.node };
  if (found.hasAttribute("data-edge")) return { edge: { from: found.dataset.from, to: found.dataset.to, pointer: found.dataset.edge } };
  return { port: found.dataset.port };
}

function nameOf(found) {
  const part = partOf(found);
  if (part.node !== undefined) return `Node ${part.node}`;
  if (part.edge) return `Edge from ${part.edge.from} to ${part.edge.to.replace("@output.", "output ")}`;
  return part.port.replace("@output.", "Output ").replace("input.", "Input ");
}

/** A message in place of a picture. */
export function note(text) {
  return element("p", { class: "muted" }, text);
}
