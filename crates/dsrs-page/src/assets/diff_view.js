// The difference of two texts as a table of lines, with changed words marked. Texts are text. Knows no graph.

import { countChanges, hunks } from "./diff.js";
import { element } from "./element.js";

const SIGNS = { same: " ", removed: "−", added: "+" };
const NAMES = { removed: "removed", added: "added" };

/** The changes from one text to another, folded to the lines around them. */
export function diffView(before, after, label) {
  const found = hunks(before, after);
  if (found.length === 0) return element("p", { class: "muted" }, "No change.");
  const body = element("div", { class: "diff", role: "region", "aria-label": label, tabindex: "0" });
  found.forEach((hunk, index) => {
    if (index > 0) body.append(element("div", { class: "diff-gap", "aria-hidden": "true" }, "⋯"));
    body.append(...hunk.lines.map(lineView));
  });
  return body;
}

function lineView(line) {
  const words = line.words?.map((word) => element("span", { class: word.op === "same" ? null : "word" }, word.text)) ?? [line.text];
  const spoken = NAMES[line.op] ? element("span", { class: "sr" }, `${NAMES[line.op]}: `) : undefined;
  return element("div", { class: `diff-line ${line.op}` },
    element("span", { class: "at", "aria-hidden": "true" }, String(line.before ?? "")), element("span", { class: "at", "aria-hidden": "true" }, String(line.after ?? "")),
    element("span", { class: "sign", "aria-hidden": "true" }, SIGNS[line.op]), element("code", {}, spoken, words));
}

/** How much changed, in words. */
export function changeWords(before, after) {
  const { added, removed } = countChanges(before, after);
  const lines = (count) => `${count} ${count === 1 ? "line" : "lines"}`;
  return `${lines(added)} added, ${lines(removed)} removed`;
}
