// The difference of two texts: line by line, and word by word within changed lines. Knows no browser.

/** The most steps of the search; beyond it, everything between the equal ends counts as replaced. */
const MOST_STEPS = 4000;

/**
 * The shortest way from one list to another: `[{op, before, after}]` with op `same`, `removed` or `added`, where
 * `before` and `after` are indexes. Myers' algorithm.
 */
export function diffLists(before, after) {
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head += 1;
  let tail = 0;
  while (
    tail < before.length - head && tail < after.length - head &&
    before[before.length - 1 - tail] === after[after.length - 1 - tail]
  ) tail += 1;
  const steps = [];
  for (let index = 0; index < head; index += 1) steps.push({ op: "same", before: index, after: index });
  const a = before.slice(head, before.length - tail);
  const b = after.slice(head, after.length - tail);
  for (const step of middle(a, b)) steps.push({ ...step, before: step.before + head, after: step.after + head });
  for (let index = tail; index > 0; index -= 1) {
    steps.push({ op: "same", before: before.length - index, after: after.length - index });
  }
  return steps;
}

function middle(a, b) {
  const trail = trace(a, b);
  if (!trail) return replaced(a, b);
  const steps = [];
  let [x, y] = [a.length, b.length];
  for (let depth = trail.length - 1; depth >= 0; depth -= 1) {
    const reach = trail[depth];
    const diagonal = x - y;
    const comesDown = diagonal === -depth || (diagonal !== depth && reach(diagonal - 1) < reach(diagonal + 1));
    const previous = comesDown ? diagonal + 1 : diagonal - 1;
    const [fromX, fromY] = depth === 0 ? [0, 0] : [reach(previous), reach(previous) - previous];
    while (x > fromX && y > fromY) steps.push({ op: "same", before: (x -= 1), after: (y -= 1) });
    if (depth > 0 && comesDown) steps.push({ op: "added", before: x, after: (y -= 1) });
    else if (depth > 0) steps.push({ op: "removed", before: (x -= 1), after: y });
  }
  return steps.reverse();
}

/** How far each diagonal reached before each depth; nothing if the search would be too long. */
function trace(a, b) {
  const most = a.length + b.length;
  let frontier = new Map([[1, 0]]);
  const trail = [];
  let work = 0;
  for (let depth = 0; depth <= most; depth += 1) {
    const before = frontier;
    trail.push((diagonal) => before.get(diagonal) ?? -1);
    frontier = new Map(before);
    for (let diagonal = -depth; diagonal <= depth; diagonal += 2) {
      const [down, right] = [before.get(diagonal + 1) ?? -1, before.get(diagonal - 1) ?? -1];
      let x = diagonal === -depth || (diagonal !== depth && right < down) ? down : right + 1;
      let y = x - diagonal;
      while (x < a.length && y < b.length && a[x] === b[y]) {
        x += 1;
        y += 1;
      }
      frontier.set(diagonal, x);
      if (x >= a.length && y >= b.length) return trail;
    }
    work += depth;
    if (work > MOST_STEPS * 40 || depth > MOST_STEPS / 4) return undefined;
  }
  return trail;
}

function replaced(a, b) {
  return [
    ...a.map((_, index) => ({ op: "removed", before: index, after: 0 })),
    ...b.map((_, index) => ({ op: "added", before: a.length, after: index })),
  ];
}

/** The lines of two texts: `[{op, before?, after?, text}]` with line numbers from 1. */
export function diffLines(before, after) {
  const [a, b] = [before.split("\n"), after.split("\n")];
  return diffLists(a, b).map((step) => ({
    op: step.op,
    before: step.op === "added" ? undefined : step.before + 1,
    after: step.op === "removed" ? undefined : step.after + 1,
    text: step.op === "added" ? b[step.after] : a[step.before],
  }));
}

const WORD = /[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu;

/** Two texts word by word: `[{op, text}]`, neighbours of one kind joined. */
export function diffWords(before, after) {
  const [a, b] = [before.match(WORD) ?? [], after.match(WORD) ?? []];
  const parts = [];
  for (const step of diffLists(a, b)) {
    const text = step.op === "added" ? b[step.after] : a[step.before];
    if (parts.at(-1)?.op === step.op) parts.at(-1).text += text;
    else parts.push({ op: step.op, text });
  }
  return parts;
}

/**
 * The changes of two texts with lines around them: `[{before, after, lines}]`. A removed line and the added line that
 * replaces it have `words`.
 */
export function hunks(before, after, around = 3) {
  const lines = diffLines(before, after);
  pairWords(lines);
  const near = new Array(lines.length).fill(false);
  lines.forEach((line, index) => {
    if (line.op !== "same") near.fill(true, Math.max(0, index - around), index + around + 1);
  });
  const found = [];
  lines.forEach((line, index) => {
    if (!near[index]) return;
    if (!near[index - 1]) found.push({ lines: [], before: line.before, after: line.after });
    found.at(-1).lines.push(line);
  });
  return found;
}

function pairWords(lines) {
  let index = 0;
  while (index < lines.length) {
    const removed = index;
    while (lines[index]?.op === "removed") index += 1;
    const added = index;
    while (lines[index]?.op === "added") index += 1;
    if (added - removed === index - added) {
      for (let at = removed; at < added; at += 1) pair(lines[at], lines[added + at - removed]);
    }
    if (index === removed) index += 1;
  }
}

function pair(removed, added) {
  if (removed.text.length + added.text.length > 4000) return;
  const words = diffWords(removed.text, added.text);
  const equal = words.filter((part) => part.op === "same").reduce((sum, part) => sum + part.text.trim().length, 0);
  if (equal * 3 < Math.max(removed.text.trim().length, added.text.trim().length)) return;
  removed.words = words.filter((part) => part.op !== "added");
  added.words = words.filter((part) => part.op !== "removed");
}

/** How many lines were added and removed. */
export function countChanges(before, after) {
  const lines = diffLines(before, after);
  const count = (op) => lines.filter((line) => line.op === op).length;
  return { added: count("added"), removed: count("removed") };
}
