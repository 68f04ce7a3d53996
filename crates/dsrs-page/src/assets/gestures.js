// The gestures of the picture: connect, add, rename, delete. Each is one edit of `PATCH /v1/graphs/{graph}`, applied to
// the text. Knows no mouse: every gesture asks in a dialog for what it needs.

import { askTexts, choose } from "./choice_dialog.js";
import { newNode, sources, strategyRank } from "./definition_completion.js";
import { freeName, nameProblem } from "./graph_text.js";
import { sourcesOf, targetsOf } from "./ports.js";

export class Gestures {
  /** `host` has `picture`, `server`, `graph()`, `apply(edit)` and `announce(text)`. */
  constructor(host) {
    this.host = host;
    const { root } = host.picture;
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

  source(label) {
    return sources(this.host.server, this.host.graph()).find((source) => source.label === label);
  }

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
