// What keys do in a text of JSON beyond writing themselves: indentation, line breaks, pairs of brackets and quotes. Each
// answers `{changes, selection}`, or nothing if the key only writes itself. Knows no browser.

const STEP = "  ";
const PAIRS = { "{": "}", "[": "]", '"': '"' };

/** Indents the lines of a selection, or writes a step at the caret; takes a step away if `isBack`. */
export function indented(text, start, end, isBack) {
  const first = text.lastIndexOf("\n", start - 1) + 1;
  if (start === end && !isBack) return inserted(text, start, end, STEP, STEP.length);
  const lines = [];
  for (let at = first; at <= end; ) {
    lines.push(at);
    const next = text.indexOf("\n", at);
    if (next < 0 || next + 1 >= end) break;
    at = next + 1;
  }
  const changes = lines.toReversed().map((at) => (isBack ? outdent(text, at) : { start: at, removed: "", inserted: STEP })).filter(Boolean);
  const by = (change) => change.inserted.length - change.removed.length;
  const all = changes.reduce((sum, change) => sum + by(change), 0);
  const ofFirst = changes.filter((change) => change.start === first).reduce((sum, change) => sum + by(change), 0);
  return { changes, selection: [Math.max(first, start + ofFirst), Math.max(first, end + all)] };
}

function outdent(text, at) {
  const found = /^(?: {1,2}|\t)/.exec(text.slice(at, at + 2));
  return found && { start: at, removed: found[0], inserted: "" };
}

/** A line break with the indentation of the line, deeper behind an opening bracket. */
export function lineBreak(text, start, end) {
  const line = text.slice(text.lastIndexOf("\n", start - 1) + 1, start);
  const indent = /^[ \t]*/.exec(line)[0];
  const opens = /[{[]$/.test(line.trimEnd());
  const closes = /^[ \t]*[}\]]/.test(text.slice(end, end + 20));
  if (!opens) return inserted(text, start, end, `\n${indent}`, indent.length + 1);
  const inner = `\n${indent}${STEP}`;
  return inserted(text, start, end, closes ? `${inner}\n${indent}` : inner, inner.length);
}

/** Opening signs write their closing ones; closing signs step over those that are there. */
export function paired(text, start, end, key) {
  const next = text[end] ?? "";
  const previous = text[start - 1] ?? "";
  if (start !== end) return undefined;
  if (key === "Backspace") {
    const isEmptyPair = PAIRS[previous] === next && next !== "" && !(previous === '"' && inText(text, start - 1));
    return isEmptyPair ? { changes: [{ start: start - 1, removed: previous + next, inserted: "" }], selection: [start - 1, start - 1] } : undefined;
  }
  const isInText = inText(text, start);
  if (key === next && (key === '"' ? isInText && previous !== "\\" : "}]".includes(key) && !isInText)) {
    return { changes: [], selection: [start + 1, start + 1] };
  }
  // A quote before a quote that opens a text would close around what is between: it gets its own partner.
  const isFree = /^[\s,}\]:]?$/.test(next) || (key === '"' && next === '"');
  if (!(key in PAIRS) || isInText || !isFree) return undefined;
  return inserted(text, start, end, key + PAIRS[key], 1);
}

/** Whether a position is inside of quotes: counts those of its line. */
function inText(text, at) {
  const line = text.slice(text.lastIndexOf("\n", at - 1) + 1, at);
  return (line.replace(/\\./g, "").split('"').length - 1) % 2 === 1;
}

function inserted(text, start, end, what, caret) {
  return { changes: [{ start, removed: text.slice(start, end), inserted: what }], selection: [start + caret, start + caret] };
}
