// The edits of `PATCH /v1/graphs/{graph}`, applied to the text of a definition: only what an edit changes is written,
// everything else stays as its author wrote it. Knows no browser.

import { child, parse } from "./json_text.js";
import { formatValue } from "./json_format.js";
import { endOf, readGraph } from "./graph_text.js";

/**
 * The changes that apply an edit to a text, last place first: `[{start, removed, inserted}]`.
 * Throws an `Error` with a reason if the text is not JSON or the edit does not apply.
 */
export function changesOf(edit, text) {
  const tree = parse(text);
  if (tree.errors.length > 0 || tree.root.kind !== "object") throw new Error("The text is not JSON. Repair it first.");
  const apply = EDITS[edit.op];
  if (!apply) throw new Error(`There is no edit \`${edit.op}\`.`);
  const changes = apply(edit, new Draft(tree));
  return changes.filter((change) => change.removed !== change.inserted).sort((a, b) => b.start - a.start);
}

/** A text after changes, in their order. */
export function applyChanges(text, changes) {
  return changes.reduce((now, { start, removed, inserted }) => now.slice(0, start) + inserted + now.slice(start + removed.length), text);
}

const EDITS = {
  add_node: ({ name, node }, draft) => {
    if (draft.node(name)) throw new Error(`\`${name}\` exists already.`);
    return draft.set("nodes", name, node);
  },
  remove_node: ({ name }, draft) => {
    draft.require(name);
    const used = draft.graph.outputs.filter((output) => endOf(output.from)?.node === name).map((output) => `\`${output.name}\``);
    if (used.length === 1) throw new Error(`The output ${used[0]} comes from \`${name}\`. Delete the output first.`);
    if (used.length > 1) throw new Error(`The outputs ${used.join(", ")} come from \`${name}\`. Delete them first.`);
    const edges = draft.graph.edges.filter((edge) => touches(edge, name)).map((edge) => edge.index);
    return [...draft.remove("nodes", name), ...draft.removeEdges(edges)];
  },
  rename_node: ({ name, to }, draft) => {
    const node = draft.require(name);
    if (draft.node(to)) throw new Error(`\`${to}\` exists already.`);
    const ends = draft.graph.edges.flatMap(({ item }) => ["from", "to"].map((side) => child(item, side)?.value));
    const outputs = draft.graph.outputs.map((output) => output.value);
    return [draft.write(node.key, to), ...[...ends, ...outputs].flatMap((end) => draft.renamed(end, name, to))];
  },
  connect: ({ from, to }, draft) => {
    if (draft.edge(from, to)) throw new Error(`\`${from}\` is connected to \`${to}\` already.`);
    return draft.append("edges", { from, to });
  },
  disconnect: ({ from, to }, draft) => {
    const edge = draft.edge(from, to);
    if (!edge) throw new Error(`There is no edge from \`${from}\` to \`${to}\`.`);
    return draft.removeEdges([edge.index]);
  },
  set_output: ({ name, from }, draft) => draft.set("outputs", name, from),
  remove_output: ({ name }, draft) => draft.remove("outputs", name),
  set_input: ({ name, type }, draft) => draft.set("inputs", name, type),
  remove_input: ({ name }, draft) => draft.remove("inputs", name),
};

function touches(edge, name) {
  return endOf(edge.from)?.node === name || endOf(edge.to)?.node === name;
}

class Draft {
  constructor(tree) {
    this.tree = tree;
    this.text = tree.text;
    this.graph = readGraph(tree);
  }

  node(name) {
    return this.graph.nodes.find((node) => node.name === name);
  }

  require(name) {
    const node = this.node(name);
    if (!node) throw new Error(`There is no node \`${name}\`.`);
    return node;
  }

  edge(from, to) {
    return this.graph.edges.find((edge) => edge.from === from && edge.to === to);
  }

  /** The change that writes a value in the place of a node. */
  write(node, value) {
    const indent = indentAt(this.text, node.start);
    return { start: node.start, removed: this.text.slice(node.start, node.end), inserted: formatValue(value, indent) };
  }

  renamed(end, name, to) {
    if (end?.kind !== "string" || endOf(end.value)?.node !== name) return [];
    return [this.write(end, to + end.value.slice(name.length))];
  }

  /** Sets a member of a member of the document. */
  set(part, name, value) {
    const container = child(this.tree.root, part)?.value;
    if (container?.kind !== "object") return this.setPart(part, container, { [name]: value });
    const present = child(container, name);
    if (present) return [this.write(present.value, value)];
    return [this.insert(container, container.members, `${JSON.stringify(name)}: `, value)];
  }

  append(part, value) {
    const container = child(this.tree.root, part)?.value;
    if (container?.kind !== "array") return this.setPart(part, container, [value]);
    return [this.insert(container, container.items, "", value)];
  }

  setPart(part, present, value) {
    if (present) return [this.write(present, value)];
    return [this.insert(this.tree.root, this.tree.root.members, `${JSON.stringify(part)}: `, value)];
  }

  /** The change that adds a part behind the others of a container. */
  insert(container, parts, name, value) {
    const last = parts.at(-1);
    const outer = indentAt(this.text, container.start);
    if (!last) {
      const inner = `${outer}  `;
      const inserted = `\n${inner}${name}${formatValue(value, inner)}\n${outer}`;
      return { start: container.start + 1, removed: this.text.slice(container.start + 1, container.end - 1), inserted };
    }
    const end = last.end ?? last.value.end;
    const isOneLine = !this.text.slice(container.start, container.end).includes("\n");
    const inner = isOneLine ? outer : indentAt(this.text, last.start);
    const gap = isOneLine ? ", " : `,\n${inner}`;
    return { start: end, removed: "", inserted: gap + name + formatValue(value, inner) };
  }

  remove(part, name) {
    const container = child(this.tree.root, part)?.value;
    const index = container?.kind === "object" ? container.members.findIndex((member) => member.key.value === name) : -1;
    if (index < 0) throw new Error(`There is no \`${name}\` in \`${part}\`.`);
    return this.cut(container, container.members, [index]);
  }

  removeEdges(indexes) {
    const container = child(this.tree.root, "edges")?.value;
    return indexes.length === 0 ? [] : this.cut(container, container.items, indexes);
  }

  /** The changes that take parts out of a container, with one comma each. */
  cut(container, parts, indexes) {
    const gone = new Set(indexes);
    if (gone.size === parts.length) return [this.removal(container.start + 1, container.end - 1)];
    const changes = [];
    for (let first = 0; first < parts.length; first += 1) {
      if (!gone.has(first)) continue;
      let last = first;
      while (gone.has(last + 1)) last += 1;
      if (first > 0) changes.push(this.removal(parts[first - 1].end, parts[last].end));
      else changes.push(this.removal(parts[0].start, parts[last + 1].start));
      first = last;
    }
    return changes;
  }

  removal(start, end) {
    return { start, removed: this.text.slice(start, end), inserted: "" };
  }
}

/** The white space at the beginning of the line of a position. */
function indentAt(text, at) {
  const line = text.slice(text.lastIndexOf("\n", at - 1) + 1);
  return /^[ \t]*/.exec(line)[0];
}
