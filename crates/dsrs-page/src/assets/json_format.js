// Writes JSON as people write definitions: what is short stays on one line, the order and the spelling of numbers stay
// as they are. Knows no graph and no browser.

import { parse } from "./json_text.js";

const WIDTH = 96;
const STEP = "  ";

/** A text, written afresh. A text that is not JSON stays as it is. */
export function format(text) {
  const tree = parse(text);
  return tree.errors.length > 0 ? text : write(tree, tree.root, "");
}

/** A JavaScript value as JSON, to stand behind `indent`. */
export function formatValue(value, indent = "") {
  const tree = parse(JSON.stringify(value));
  return write(tree, tree.root, indent);
}

/** The members of an object that are not in `without`, written afresh. */
export function formatWithout(text, without) {
  const tree = parse(text);
  if (tree.errors.length > 0 || tree.root.kind !== "object") return text;
  const members = tree.root.members.filter((member) => !without.includes(member.key.value));
  return write(tree, { ...tree.root, members }, "");
}

function write(tree, node, indent, before = 0) {
  const parts = partsOf(node);
  if (!parts) return tree.text.slice(node.start, node.end);
  const [open, close] = node.kind === "object" ? "{}" : "[]";
  if (parts.length === 0) return open + close;
  // The document and its members have a line for each part that has parts itself.
  if (depthOf(node) <= Math.min(2, indent.length / STEP.length)) {
    const line = onOneLine(tree, node, WIDTH - indent.length - before);
    if (line !== undefined) return line;
  }
  const inner = indent + STEP;
  const lines = parts.map(({ key, value }) => {
    const name = key ? `${tree.text.slice(key.start, key.end)}: ` : "";
    return inner + name + write(tree, value, inner, name.length);
  });
  return `${open}\n${lines.join(",\n")}\n${indent}${close}`;
}

function partsOf(node) {
  if (node.kind === "object") return node.members;
  return node.kind === "array" ? node.items.map((value) => ({ value })) : undefined;
}

function depthOf(node) {
  const parts = partsOf(node) ?? [];
  return parts.length === 0 ? 0 : 1 + Math.max(...parts.map((part) => depthOf(part.value)));
}

function onOneLine(tree, node, width) {
  const parts = partsOf(node);
  if (!parts) return tree.text.slice(node.start, node.end);
  if (parts.length === 0) return node.kind === "object" ? "{}" : "[]";
  const [open, close] = node.kind === "object" ? "{}" : "[]";
  let length = 2;
  const written = [];
  for (const { key, value } of parts) {
    const name = key ? `${tree.text.slice(key.start, key.end)}: ` : "";
    const rest = onOneLine(tree, value, width - length - name.length);
    if (rest === undefined) return undefined;
    length += name.length + rest.length + 2;
    if (length > width + 2) return undefined;
    written.push(name + rest);
  }
  return open + written.join(", ") + close;
}
