// Reads JSON text that may be broken into nodes with positions. A JSON Pointer leads to a range of the text, a
// position of the text to a pointer. Knows no graph and no browser.

const SPACE = /[ \t\r\n]/;

/**
 * The tree of a text: nodes `{kind, start, end, value}`; `object` has `members` `[{key, value}]`, `array` has `items`.
 * What is missing is a node of kind `missing`. `errors` lists what is not JSON: `{start, end, message}`.
 */
export function parse(text) {
  if (latest?.text !== text) latest = read(text);
  return latest;
}

/** The latest tree: every part of the editor reads the same text. Trees do not change. */
let latest;

function read(text) {
  const reader = new Reader(text);
  reader.space();
  const root = reader.value(null);
  reader.space();
  if (reader.at < text.length) reader.error(reader.at, text.length, "text behind the end of the document");
  return { root, errors: reader.errors, text };
}

const MOST_DEPTH = 200;

class Reader {
  constructor(text) {
    this.text = text;
    this.at = 0;
    this.depth = 0;
    this.errors = [];
  }

  error(start, end, message) {
    if (this.errors.length < 50) this.errors.push({ start, end: Math.max(end, start + 1), message });
  }

  space() {
    const { text } = this;
    while (this.at < text.length && SPACE.test(text[this.at])) this.at += 1;
  }

  value(parent) {
    const start = this.at;
    const first = this.text[start];
    if (this.depth > MOST_DEPTH) {
      this.error(start, start + 1, "too deep");
      this.at = this.text.length;
      return { kind: "missing", start, end: start, parent };
    }
    if (first === "{") return this.object(parent);
    if (first === "[") return this.array(parent);
    if (first === '"') return this.string(parent);
    if (first !== undefined && /[-+.0-9A-Za-z_$]/.test(first)) return this.scalar(parent);
    this.error(start, start + 1, first === undefined ? "a value is missing at the end" : "a value is missing");
    return { kind: "missing", start, end: start, parent };
  }

  string(parent) {
    const start = this.at;
    const { text } = this;
    let at = start + 1;
    let closed = false;
    while (at < text.length && text[at] !== "\n") {
      if (text[at] === "\\") at += 2;
      else if (text[at] === '"') {
        at += 1;
        closed = true;
        break;
      } else at += 1;
    }
    this.at = Math.min(at, text.length);
    const raw = text.slice(start, this.at);
    let value;
    try {
      value = JSON.parse(closed ? raw : raw + '"');
    } catch {
      value = raw.slice(1, closed ? -1 : undefined);
      if (closed) this.error(start, this.at, "not a JSON text: a character needs an escape");
    }
    if (!closed) this.error(start, this.at, "the closing quote is missing");
    return { kind: "string", start, end: this.at, value, closed, parent };
  }

  scalar(parent) {
    const start = this.at;
    const raw = /^[-+.0-9A-Za-z_$]+/.exec(this.text.slice(start, start + 400))[0];
    this.at = start + raw.length;
    const node = { kind: "word", start, end: this.at, value: raw, parent };
    if (raw === "true" || raw === "false") return { ...node, kind: "bool", value: raw === "true" };
    if (raw === "null") return { ...node, kind: "null", value: null };
    if (/^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/.test(raw)) return { ...node, kind: "number", value: Number(raw) };
    this.error(start, this.at, `\`${raw.slice(0, 40)}\` is not JSON; texts need quotes`);
    return node;
  }

  object(parent) {
    const node = { kind: "object", start: this.at, end: this.at, members: [], parent, closed: false };
    this.at += 1;
    this.depth += 1;
    let needsComma = false;
    for (;;) {
      this.space();
      const next = this.text[this.at];
      if (next === undefined) {
        this.error(node.start, node.start + 1, "the closing `}` is missing");
        break;
      }
      if (next === "}") {
        this.at += 1;
        node.closed = true;
        break;
      }
      if (next === ",") {
        if (!needsComma) this.error(this.at, this.at + 1, "a member is missing before the comma");
        needsComma = false;
        node.trailing = this.at;
        this.at += 1;
        continue;
      }
      if (next === "]") {
        this.error(this.at, this.at + 1, "`]` closes nothing here");
        if (this.depth > 1) break;
        this.at += 1;
        continue;
      }
      if (needsComma) this.error(this.at, this.at + 1, "a comma is missing");
      if (next === '"' || /[A-Za-z_$]/.test(next)) {
        node.members.push(this.member(node));
        node.trailing = undefined;
        needsComma = true;
      } else {
        this.error(this.at, this.at + 1, "a name in quotes is missing");
        if (next === ":") this.at += 1;
        this.space();
        const before = this.at;
        this.value(node);
        if (this.at === before) this.at += 1;
      }
    }
    if (node.trailing !== undefined && node.closed) {
      this.error(node.trailing, node.trailing + 1, "a comma before `}`");
    }
    this.depth -= 1;
    node.end = this.at;
    return node;
  }

  member(parent) {
    const key = this.text[this.at] === '"' ? this.string(parent) : this.scalar(parent);
    const member = { key, value: undefined, start: key.start, end: key.end };
    this.space();
    if (this.text[this.at] === ":") {
      member.colon = this.at;
      this.at += 1;
      this.space();
      member.value = /[,}\]]/.test(this.text[this.at] ?? "}") ? this.missing(parent) : this.value(parent);
    } else {
      if (key.closed !== false) this.error(key.end, key.end + 1, "a colon and a value are missing");
      member.value = { kind: "missing", start: key.end, end: key.end, parent };
    }
    member.end = Math.max(member.value.end, key.end);
    return member;
  }

  missing(parent) {
    this.error(this.at, this.at + 1, "a value is missing");
    return { kind: "missing", start: this.at, end: this.at, parent };
  }

  array(parent) {
    const node = { kind: "array", start: this.at, end: this.at, items: [], parent, closed: false };
    this.at += 1;
    this.depth += 1;
    let needsComma = false;
    let trailing;
    for (;;) {
      this.space();
      const next = this.text[this.at];
      if (next === undefined) {
        this.error(node.start, node.start + 1, "the closing `]` is missing");
        break;
      }
      if (next === "]") {
        this.at += 1;
        node.closed = true;
        if (trailing !== undefined) this.error(trailing, trailing + 1, "a comma before `]`");
        break;
      }
      if (next === "}" || next === ":") {
        this.error(this.at, this.at + 1, `\`${next}\` closes nothing here`);
        if (next === "}") break;
        this.at += 1;
        continue;
      }
      if (next === ",") {
        if (!needsComma) this.error(this.at, this.at + 1, "an item is missing before the comma");
        needsComma = false;
        trailing = this.at;
        this.at += 1;
        continue;
      }
      if (needsComma) this.error(this.at, this.at + 1, "a comma is missing");
      const before = this.at;
      node.items.push(this.value(node));
      if (this.at === before) this.at += 1;
      needsComma = true;
      trailing = undefined;
    }
    this.depth -= 1;
    node.end = this.at;
    return node;
  }
}

/** The steps of a JSON Pointer. */
export function steps(pointer) {
  if (!pointer) return [];
  return pointer.replace(/^\//, "").split("/").map((step) => step.replace(/~1/g, "/").replace(/~0/g, "~"));
}

/** The pointer of steps. */
export function pointerOf(path) {
  return path.map((step) => `/${String(step).replace(/~/g, "~0").replace(/\//g, "~1")}`).join("");
}

/** The member or item of a node: `{key?, value}`. The last member of a name wins, as in JSON. */
export function child(node, step) {
  if (node?.kind === "object") return node.members.findLast((member) => member.key.value === step);
  if (node?.kind === "array") {
    const value = /^\d+$/.test(step) ? node.items[Number(step)] : undefined;
    return value && { value };
  }
  return undefined;
}

/** The node at a pointer, if the text has it. */
export function find(root, pointer) {
  let node = root;
  for (const step of Array.isArray(pointer) ? pointer : steps(pointer)) node = child(node, step)?.value;
  return node;
}

/**
 * The range that a problem at a pointer marks: a scalar itself, the name of a container; what is missing is marked at
 * the nearest part that exists.
 */
export function rangeOf(tree, pointer) {
  let node = tree.root;
  let range = { start: node.start, end: Math.min(node.start + 1, node.end) };
  for (const step of steps(pointer)) {
    const found = child(node, step);
    if (!found) break;
    node = found.value;
    const isShort = node.kind !== "object" && node.kind !== "array" && node.kind !== "missing";
    const isItem = !found.key;
    if (isShort) range = { start: node.start, end: node.end };
    else if (isItem) range = { start: node.start, end: Math.min(node.end, lineEnd(tree.text, node.start)) };
    else range = { start: found.key.start, end: found.key.end };
  }
  return range.end > range.start ? range : { start: range.start, end: range.start + 1 };
}

function lineEnd(text, at) {
  const end = text.indexOf("\n", at);
  return end < 0 ? text.length : end;
}

/**
 * Where a position is: `path` of the container and what is there. `role` is `key` (a name is or could be written),
 * `value` (a value of `path`), or `none` (behind a complete value). `from` and `to` are what a completion replaces.
 */
export function contextAt(tree, at) {
  return within(tree, tree.root, [], at);
}

function within(tree, node, path, at) {
  if (node.kind === "object" && at > node.start && (at < node.end || !node.closed)) return inObject(tree, node, path, at);
  if (node.kind === "array" && at > node.start && (at < node.end || !node.closed)) return inArray(tree, node, path, at);
  if (node.kind === "string" && (at <= node.start || (node.closed && at >= node.end))) return at < node.start
    ? { path, role: "value", from: at, to: at, node: undefined, typed: "" }
    : { path, role: "none", from: at, to: at, node, typed: "" };
  if (node.kind === "object" || node.kind === "array") return { path, role: "none", from: at, to: at, node, typed: "" };
  const typed = tree.text.slice(node.start, at).replace(/^"/, "");
  return { path, role: "value", from: node.start, to: Math.max(node.end, at), node, typed };
}

function inObject(tree, node, path, at) {
  for (const member of node.members) {
    const { key, value } = member;
    if (at >= key.start && (at < key.end || (at === key.end && key.closed !== true))) {
      const typed = tree.text.slice(key.start, at).replace(/^"/, "");
      return { path, role: "key", from: key.start, to: key.end, node, key, member, typed };
    }
    if (member.colon !== undefined && at > member.colon) {
      const end = value.kind === "missing" ? nextStop(tree.text, member.colon + 1) : value.end;
      const isOpen = value.closed === false || value.kind === "word" || value.kind === "missing";
      if (at < end || (at === end && isOpen)) {
        const inner = [...path, key.value];
        if (at < value.start || value.kind === "missing") return { path: inner, role: "value", from: at, to: at, typed: "" };
        return within(tree, value, inner, at);
      }
    }
  }
  return between(tree, at, "{", { path, role: "key", from: at, to: at, node, typed: "" });
}

function inArray(tree, node, path, at) {
  for (const [index, item] of node.items.entries()) {
    const isOpen = item.closed === false || item.kind === "word";
    if (at >= item.start && (at < item.end || (at === item.end && isOpen))) {
      return within(tree, item, [...path, String(index)], at);
    }
  }
  const index = node.items.filter((item) => item.end <= at).length;
  return between(tree, at, "[", { path: [...path, String(index)], role: "value", from: at, to: at, typed: "" });
}

/** A new member or item fits behind an opening bracket and behind a comma, and on an empty line. */
function between(tree, at, open, context) {
  const before = tree.text.slice(0, at).trimEnd().at(-1);
  const isAfresh = before === open || before === ",";
  const line = tree.text.slice(tree.text.lastIndexOf("\n", at - 1) + 1, lineEnd(tree.text, at));
  if (isAfresh || line.trim() === "") return context;
  return { ...context, role: "none" };
}

function nextStop(text, at) {
  let end = at;
  while (end < text.length && !/[,}\]\n]/.test(text[end])) end += 1;
  return end;
}

/** The value of a node as JavaScript has it, leaving out what is missing. */
export function plain(node) {
  switch (node?.kind) {
    case "object":
      return Object.fromEntries(node.members.filter((m) => m.value.kind !== "missing").map((m) => [m.key.value, plain(m.value)]));
    case "array":
      return node.items.filter((item) => item.kind !== "missing").map(plain);
    case "missing":
    case undefined:
      return undefined;
    default:
      return node.value;
  }
}

/** The pointer of the smallest node that a position is in. */
export function pointerAt(tree, at) {
  let node = tree.root;
  const path = [];
  for (;;) {
    const inside = (part) => at >= part.start && at <= part.end;
    if (node.kind === "object") {
      const member = node.members.find(inside);
      if (!member) break;
      path.push(member.key.value);
      node = member.value;
    } else if (node.kind === "array") {
      const index = node.items.findIndex(inside);
      if (index < 0) break;
      path.push(String(index));
      node = node.items[index];
    } else break;
  }
  return pointerOf(path);
}
