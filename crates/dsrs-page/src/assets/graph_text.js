// A graph definition as it is written in a text, broken or not: its nodes, edges, inputs, outputs and types with their
// places. Knows no browser.

import { child, plain } from "./json_text.js";

/** Types that every graph knows. */
export const BASIC_TYPES = [
  ["str", "a text"],
  ["int", "a whole number"],
  ["float", "a number"],
  ["bool", "true or false"],
  ["null", "only null"],
  ["any", "any value"],
  ["bytes", "bytes, as base64"],
  ["error", "the failure of a node"],
  ["list[str]", "a list of values of one type"],
  ["dict[str, str]", "values of one type by name"],
  ["tuple[str, int]", "a fixed number of values"],
  ["str?", "a value or null"],
  ['"low" | "high"', "one of these texts"],
];

/** Node and field of a selection such as `extract.person.name`; nothing if it is not one. */
export function endOf(selection) {
  const match = /^([A-Za-z_][A-Za-z0-9_]*)\.([A-Za-z_][A-Za-z0-9_]*)(.*)$/.exec(selection ?? "");
  return match ? { node: match[1], field: match[2], path: match[3] } : undefined;
}

/** What a tree of a definition says. Every part has its place in the text as `at`. */
export function readGraph(tree) {
  const member = (name) => child(tree.root, name)?.value;
  const members = (name) => (member(name)?.kind === "object" ? member(name).members : []);
  const edges = member("edges")?.kind === "array" ? member("edges").items : [];
  return {
    name: child(tree.root, "name")?.value.value,
    nodes: members("nodes").map(({ key, value }) => ({ name: key.value, key, value, strategy: text(child(value, "strategy")) })),
    edges: edges.map((item, index) => ({ index, item, from: text(child(item, "from")), to: text(child(item, "to")) })),
    inputs: members("inputs").map(({ key, value }) => ({ name: key.value, type: typeOf(value) })),
    outputs: members("outputs").map(({ key, value }) => ({ name: key.value, key, value, from: value.value })),
    types: members("types").map(({ key }) => key.value),
    typeDefinitions: plain(member("types")),
  };
}

function text(member) {
  return member?.value.kind === "string" ? member.value.value : undefined;
}

function typeOf(node) {
  if (node.kind === "string") return node.value;
  const type = child(node, "type")?.value;
  return type?.kind === "string" ? type.value : undefined;
}

/** What a pointer of a problem is about: `{node}`, `{edge}`, `{input}`, `{output}`, or nothing. */
export function subjectOf(pointer, graph) {
  const [part, name] = pointer.split("/").slice(1).map((step) => step.replace(/~1/g, "/").replace(/~0/g, "~"));
  if (name === undefined) return {};
  if (part === "nodes") return { node: name };
  if (part === "inputs") return { input: name };
  if (part === "outputs") return { output: name };
  if (part === "edges") {
    const edge = graph.edges[Number(name)];
    return edge ? { edge: { from: edge.from, to: edge.to, index: edge.index } } : {};
  }
  return {};
}

/** A name that no node has: the wanted one, or the first with a number. */
export function freeName(wanted, taken) {
  const base = wanted.replace(/[^A-Za-z0-9_]/g, "_").replace(/^(?=\d)/, "_") || "node";
  const names = new Set([...taken, "input"]);
  if (!names.has(base)) return base;
  for (let number = 2; ; number += 1) if (!names.has(`${base}_${number}`)) return `${base}_${number}`;
}

/** Why a name cannot be that of a node; nothing if it can. */
export function nameProblem(name, taken) {
  if (!/^[A-Za-z_][A-Za-z0-9_]{0,62}$/.test(name)) return "A name has letters, digits and `_`, and does not begin with a digit.";
  if (name === "input") return "`input` is reserved.";
  return taken.includes(name) ? `\`${name}\` exists already.` : undefined;
}
