// The problems of a definition as a list below the text: a click leads to the place. Knows no graph.

import { element, prose } from "./element.js";

const MOST_SHOWN = 200;

export class ProblemList {
  constructor(go) {
    this.go = go;
    this.root = element("ul", { class: "problem-list", "aria-label": "Problems", hidden: true });
  }

  /** Shows `[{pointer?, detail, code, start, end}]`. */
  show(problems, lineOf) {
    const rows = problems.slice(0, MOST_SHOWN).map((problem) => element("li", {}, element("button", { type: "button", title: problem.code, onclick: () => this.go(problem) },
      element("span", { class: "line-number" }, `Line ${lineOf(problem.start)}`), element("span", {}, problem.pointer ? [element("code", {}, problem.pointer), " "] : undefined, prose(problem.detail)))));
    if (problems.length > MOST_SHOWN) rows.push(element("li", { class: "muted" }, `and ${problems.length - MOST_SHOWN} more`));
    this.root.replaceChildren(...rows);
    this.root.hidden = problems.length === 0;
  }

  focus() {
    this.root.querySelector("button")?.focus();
  }
}
