// What is selected in the picture, as a list with buttons: what the mouse does, for keyboards and fingers.

import { element } from "./element.js";
import { shownEnd } from "./gestures.js";

/** The selected part with its fields and what can be done to them. `host` and `gestures` as in the editor. */
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
