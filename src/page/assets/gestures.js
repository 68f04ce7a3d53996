// Drawing in the picture: drag from an output to an input, delete, rename, add. Each gesture is one edit of
// `PATCH /v1/graphs/{graph}`, applied to the text. Everything has a keyboard and a button as well.

import { askTexts, choose } from "./choice_dialog.js";
import { newNode, sources, strategyRank } from "./definition_completion.js";
import { element, svgElement } from "./element.js";
import { freeName, nameProblem } from "./graph_text.js";
import { sourcesOf, targetsOf } from "./ports.js";

/** Movement below this is a click. */
const SLOP = 4;

/** Nearer than this to an edge of the frame, dragging scrolls. */
const EDGE = 36;

export class Gestures {
  /** `host` has `picture`, `server`, `graph()`, `apply(edit)` and `announce(text)`. */
  constructor(host) {
    this.host = host;
    const { root } = host.picture;
    root.addEventListener("pointerdown", (event) => this.press(event), { capture: true });
    root.addEventListener("keydown", (event) => this.keydown(event));
  }

  keydown(event) {
    const part = this.host.picture.selected;
    if (event.key === "Delete" || event.key === "Backspace") this.delete(part);
    else if (event.key === "F2" && part?.node !== undefined) this.rename(part.node);
    else if (event.key === "c" && !event.ctrlKey && !event.metaKey && part) this.connectPart(part);
    else return;
    event.preventDefault();
  }

  // Dragging -------------------------------------------------------------------------------------------------------

  press(event) {
    const port = event.target.closest?.("[data-port]");
    if (!port || event.button !== 0 || port.dataset.side !== "out") return;
    const { node } = event.target.closest("[data-node]")?.dataset ?? {};
    if (node?.includes("/")) return;
    const source = this.source(port.dataset.port);
    if (!source) return;
    event.stopPropagation();
    const drag = { source, port, start: [event.clientX, event.clientY], line: undefined, targets: new Map() };
    const move = (moved) => this.drag(drag, moved);
    const end = (ended) => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", end);
      removeEventListener("pointercancel", end);
      removeEventListener("keydown", cancel, { capture: true });
      this.drop(drag, ended);
    };
    const cancel = (pressed) => {
      if (pressed.key === "Escape") end(pressed);
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", end);
    addEventListener("pointercancel", end);
    addEventListener("keydown", cancel, { capture: true });
  }

  source(label) {
    return sources(this.host.server, this.host.graph()).find((source) => source.label === label);
  }

  drag(drag, event) {
    const [x, y] = drag.start;
    if (!drag.line && Math.hypot(event.clientX - x, event.clientY - y) < SLOP) return;
    if (!drag.line) this.begin(drag);
    event.preventDefault();
    scrollAtEdge(this.host.picture.root, event);
    const svg = drag.line.ownerSVGElement;
    const point = (clientX, clientY) => new DOMPoint(clientX, clientY).matrixTransform(svg.getScreenCTM().inverse());
    const from = point(...anchor(drag.port));
    const to = point(event.clientX, event.clientY);
    const bend = Math.max(30, Math.abs(to.x - from.x) / 2);
    drag.line.setAttribute("d", `M${from.x} ${from.y}C${from.x + bend} ${from.y} ${to.x - bend} ${to.y} ${to.x} ${to.y}`);
    const over = this.over(event);
    const target = over && drag.targets.get(over.dataset.port);
    drag.over?.classList.remove("over");
    drag.over = over;
    over?.classList.add("over");
    if (target && target !== drag.said) this.host.announce(target.reason ? `${shownEnd(target.label)}: ${target.reason}` : `Connect ${drag.source.label} to ${shownEnd(target.label)}`);
    drag.said = target;
  }

  over(event) {
    const found = document.elementFromPoint(event.clientX, event.clientY)?.closest("[data-port]");
    return found && this.host.picture.root.contains(found) && found.dataset.side === "in" ? found : undefined;
  }

  /** Shows at once which targets fit; those that do not are grey and say why. */
  async begin(drag) {
    const { root } = this.host.picture;
    drag.line = svgElement("path", { class: "dragged", fill: "none" });
    root.querySelector("svg").append(drag.line);
    root.classList.add("dragging");
    document.body.classList.add("is-dragging");
    for (const target of await targetsOf(drag.source, this.host.server, this.host.graph())) {
      if (drag.isOver) return;
      drag.targets.set(target.label, target);
      const port = [...root.querySelectorAll('[data-side="in"]')].find((found) => found.dataset.port === target.label);
      if (port) markTarget(port, target);
    }
  }

  async drop(drag, event) {
    drag.isOver = true;
    const { root } = this.host.picture;
    root.classList.remove("dragging");
    document.body.classList.remove("is-dragging");
    drag.line?.remove();
    const over = event.type === "pointerup" && drag.line ? this.over(event) : undefined;
    for (const port of root.querySelectorAll(".fits, .unfit, .over")) unmarkTarget(port);
    if (!over) return;
    const targets = drag.targets.has(over.dataset.port) ? [...drag.targets.values()] : await targetsOf(drag.source, this.host.server, this.host.graph());
    const target = targets.find((found) => found.label === over.dataset.port);
    if (!target) return;
    if (target.reason) this.host.announce(`${shownEnd(target.label)} does not accept ${drag.source.label}: ${target.reason}.`, true);
    else this.host.apply(target.edit);
  }

  // One gesture each -----------------------------------------------------------------------------------------------

  /** Connects an output: asks for the target. */
  async connect(label) {
    const source = this.source(label);
    if (!source) return this.host.announce(`${label} has no type yet: the definition has problems.`, true);
    const graph = this.host.graph();
    const found = (await targetsOf(source, this.host.server, graph)).map((target) => ({
      ...target, label: shownEnd(target.label), detail: target.replaces ? `instead of ${target.replaces}` : target.type,
    }));
    const isInput = label.startsWith("input.");
    const added = isInput ? [] : [{ label: "New output of the graph", detail: source.type, isNew: true }];
    const target = await choose(`Connect ${label} to`, [...found.filter((one) => !one.reason), ...added, ...found.filter((one) => one.reason)]);
    if (!target) return undefined;
    return target.isNew ? this.addOutput(label) : this.host.apply(target.edit);
  }

  /** Connects an input: asks for the source. */
  async connectInput(target) {
    const found = await sourcesOf(target, this.host.server, this.host.graph());
    const source = await choose(`Connect ${target.label} from`, found.map((one) => ({ ...one, detail: one.type })));
    return source && this.host.apply({ op: "connect", from: source.label, to: target.label });
  }

  /** Connects what is selected: an output of it, if there are several the one that is chosen. */
  async connectPart(part) {
    if (part.port?.startsWith("input.")) return this.connect(part.port);
    const outputs = this.host.server.ports?.nodes[part.node]?.outputs ?? [];
    const labels = outputs.map((port) => ({ label: `${part.node}.${port.name}`, detail: port.type }));
    const source = labels.length === 1 ? labels[0] : labels.length > 1 ? await choose("Connect which output?", labels) : undefined;
    return source && this.connect(source.label);
  }

  async addOutput(from) {
    const taken = this.host.graph().outputs.map((output) => output.name);
    const check = (name) => nameProblem(name, taken);
    const found = await askTexts("New output of the graph", [{ name: "name", label: "Name", value: freeName(from.split(".").at(-1), taken), check }], "Add output");
    return found && this.host.apply({ op: "set_output", name: found.name, from });
  }

  async addInput() {
    const taken = this.host.graph().inputs.map((input) => input.name);
    const fields = [
      { name: "name", label: "Name", value: freeName("text", taken), check: (name) => nameProblem(name, taken) },
      { name: "type", label: "Type", value: "str", check: (type) => (type ? undefined : "A type is missing.") },
    ];
    const found = await askTexts("New input of the graph", fields, "Add input");
    return found && this.host.apply({ op: "set_input", name: found.name, type: found.type });
  }

  async addNode() {
    const { server } = this.host;
    const items = [...server.strategies.values()].map((strategy) => ({ label: strategy.name, detail: strategy.calls_lm ? "calls the model" : "computes", documentation: strategy.description, strategy }));
    items.sort((a, b) => strategyRank(a.label, a.strategy.calls_lm) - strategyRank(b.label, b.strategy.calls_lm));
    const chosen = await choose("Add a node", items, { placeholder: "Search strategies" });
    if (!chosen) return;
    const taken = this.host.graph().nodes.map((node) => node.name);
    const check = (name) => nameProblem(name, taken);
    const found = await askTexts(`Add ${chosen.label}`, [{ name: "name", label: "Name of the node", value: freeName(chosen.label, taken), check }], "Add node");
    if (!found) return;
    const node = newNode(chosen.strategy, !server.unsigned.has(chosen.label));
    if (this.host.apply({ op: "add_node", name: found.name, node })) this.host.picture.await({ node: found.name });
  }

  async rename(name) {
    const taken = this.host.graph().nodes.map((node) => node.name).filter((other) => other !== name);
    const check = (to) => nameProblem(to, taken);
    const found = await askTexts(`Rename ${name}`, [{ name: "to", label: "New name", value: name, check }], "Rename");
    if (!found || found.to === name) return;
    if (this.host.apply({ op: "rename_node", name, to: found.to })) this.host.picture.await({ node: found.to });
  }

  /** Deletes what is selected: a node with its edges, an edge, an input or an output. */
  delete(part) {
    const edit = deletion(part, this.host.graph());
    if (edit && this.host.apply(edit)) this.host.picture.select(undefined);
  }
}

/** The edit that deletes a part of the picture. */
export function deletion(part, graph) {
  if (part?.node !== undefined) return { op: "remove_node", name: part.node };
  if (part?.port?.startsWith("@output.")) return { op: "remove_output", name: part.port.slice(8) };
  if (part?.port?.startsWith("input.")) return { op: "remove_input", name: part.port.slice(6) };
  if (!part?.edge) return undefined;
  const { from, to, pointer } = part.edge;
  if (to.startsWith("@output.")) return { op: "remove_output", name: to.slice(8) };
  const written = graph.edges[Number(/^\/edges\/(\d+)$/.exec(pointer ?? "")?.[1])] ?? graph.edges.find((edge) => edge.to === to);
  return { op: "disconnect", from: written?.to === to ? written.from : from, to };
}

/** An end of an edge as people read it. */
export function shownEnd(label) {
  return label.replace("@output.", "output ");
}

/** Scrolls the frame while the pointer is near one of its edges. */
function scrollAtEdge(frame, { clientX, clientY }) {
  const box = frame.getBoundingClientRect();
  const by = (place, start, end) => (place < start + EDGE ? -EDGE / 2 : place > end - EDGE ? EDGE / 2 : 0);
  frame.scrollBy(by(clientX, box.left, box.right), by(clientY, box.top, box.bottom));
}

/** Where lines leave a port: the middle of its circle, or the right end of an input of the graph. */
function anchor(port) {
  const circle = port.querySelector("circle")?.getBoundingClientRect();
  const box = circle ?? port.querySelector("rect").getBoundingClientRect();
  return [circle ? box.left + box.width / 2 : box.right, box.top + box.height / 2];
}

function markTarget(port, target) {
  port.classList.add(target.reason ? "unfit" : "fits");
  const title = port.querySelector(":scope > title");
  if (title && target.reason) {
    port.dataset.title = title.textContent;
    title.textContent = `Does not fit: ${target.reason}`;
  }
}

function unmarkTarget(port) {
  port.classList.remove("fits", "unfit", "over");
  if (port.dataset.title === undefined) return;
  port.querySelector(":scope > title").textContent = port.dataset.title;
  delete port.dataset.title;
}

/** The parts of a selection as a list with buttons: what the mouse does, for keyboards and fingers. */
export function inspector(part, host, gestures) {
  if (part?.node !== undefined) return nodeInspector(part.node, host, gestures);
  if (part?.edge) return row(element("b", {}, `${part.edge.from} → ${shownEnd(part.edge.to)}`), button("Delete edge", () => gestures.delete(part)));
  if (part?.port?.startsWith("input.")) return row(element("b", {}, `Input ${part.port.slice(6)}`), button("Connect…", () => gestures.connect(part.port)), button("Delete input", () => gestures.delete(part)));
  if (part?.port) return row(element("b", {}, `Output ${part.port.slice(8)}`), button("Delete output", () => gestures.delete(part)));
  return [element("p", { class: "muted small" }, "Select a node, or drag from an output to an input. Keys: C connects, F2 renames, Delete deletes.")];
}

function nodeInspector(name, host, gestures) {
  const graph = host.graph();
  const node = graph.nodes.find((found) => found.name === name);
  if (!node) return [];
  const ports = host.server.ports?.nodes[name] ?? { inputs: [], outputs: [] };
  const head = row(element("b", {}, name), element("code", {}, node.strategy ?? ""), button("Show in text", () => host.showNode(name)), button("Rename", () => gestures.rename(name)), button("Delete", () => gestures.delete({ node: name })));
  const inputs = ports.inputs.map((port) => {
    const label = `${name}.${port.name}`;
    const edge = graph.edges.find((found) => found.to === label);
    const act = edge ? button("Disconnect", () => host.apply({ op: "disconnect", from: edge.from, to: edge.to }), `Disconnect ${label}`)
      : button("Connect…", () => gestures.connectInput({ label, type: port.type }), `Connect ${label}`);
    return element("li", {}, element("span", {}, edge ? `${edge.from} → ` : "not connected → ", element("b", {}, port.name)), element("code", {}, port.type ?? "?"), act);
  });
  const outputs = ports.outputs.map((port) => {
    const label = `${name}.${port.name}`;
    return element("li", {}, element("span", {}, element("b", {}, port.name), " →"), element("code", {}, port.type ?? "?"), button("Connect…", () => gestures.connect(label), `Connect ${label}`));
  });
  if (inputs.length + outputs.length === 0) return head;
  return [...head, element("ul", { class: "ports", "aria-label": `Fields of ${name}` }, inputs, outputs)];
}

function row(...children) {
  return [element("div", { class: "part-row" }, children)];
}

function button(label, act, spoken) {
  return element("button", { type: "button", class: "small", onclick: act, "aria-label": spoken }, label);
}
