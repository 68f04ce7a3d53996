// The colours of JSON, line by line: no token of JSON goes over the end of a line, so a line needs no other. Knows no
// browser.

const TOKEN = /"(?:[^"\\]|\\.)*(?:"|$)|-?\d[\d.eE+-]*|\b(?:true|false|null)\b|[{}[\],:]+/g;

/** The tokens of a line, in order: `{start, end, kind}`; what lies between them has no colour. */
export function tokens(line) {
  const found = [];
  for (const match of line.matchAll(TOKEN)) {
    const start = match.index;
    const end = start + match[0].length;
    found.push({ start, end, kind: kindOf(match[0], line, end) });
  }
  return found;
}

function kindOf(token, line, end) {
  if (token[0] === '"') return /^\s*:/.test(line.slice(end, end + 20)) ? "key" : "string";
  if (/[-\d]/.test(token[0])) return "number";
  return /[tfn]/.test(token[0]) ? "word" : "sign";
}

/**
 * A line cut where tokens or marks begin and end: `[{text, classes}]`. `marks` are `{start, end, kind}` in the line.
 */
export function segments(line, marks) {
  const parts = tokens(line);
  const cuts = new Set([0, line.length]);
  for (const part of [...parts, ...marks]) {
    cuts.add(Math.max(0, Math.min(part.start, line.length)));
    cuts.add(Math.max(0, Math.min(part.end, line.length)));
  }
  const places = [...cuts].sort((a, b) => a - b);
  const found = [];
  let next = 0;
  for (let index = 0; index + 1 < places.length; index += 1) {
    const [start, end] = [places[index], places[index + 1]];
    while (next < parts.length && parts[next].end <= start) next += 1;
    const token = parts[next] && parts[next].start <= start ? [`t-${parts[next].kind}`] : [];
    const over = marks.filter((mark) => mark.start <= start && mark.end >= end).map((mark) => `m-${mark.kind}`);
    found.push({ text: line.slice(start, end), classes: [...token, ...new Set(over)] });
  }
  return found;
}
