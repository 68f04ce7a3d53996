// The search of the editor: Ctrl-F opens it; Enter and Shift-Enter go to the next and the previous match. Knows no graph.

import { element } from "./element.js";

const MOST_MATCHES = 5000;

export class FindBar {
  constructor(editor) {
    this.editor = editor;
    this.matches = [];
    this.build();
    editor.root.addEventListener("keydown", (event) => this.shortcut(event));
    editor.addEventListener("change", () => this.root.hidden || this.search({ stays: true }));
  }

  build() {
    this.input = element("input", { type: "search", "aria-label": "Find in the definition", placeholder: "Find", autocomplete: "off", spellcheck: "false" });
    this.count = element("span", { class: "count", role: "status" });
    const button = (label, sign, act) => element("button", { type: "button", class: "quiet", "aria-label": label, title: label, onclick: act }, sign);
    this.root = element("div", { class: "find-bar", role: "search", hidden: true }, this.input, this.count,
      button("Previous match", "↑", () => this.go(-1)), button("Next match", "↓", () => this.go(1)), button("Close the search", "×", () => this.close()));
    this.input.addEventListener("input", () => this.search({}));
    this.input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") {
        event.preventDefault();
        this.go(event.shiftKey ? -1 : 1);
      }
    });
    this.editor.root.append(this.root);
  }

  shortcut(event) {
    const isCommand = (event.ctrlKey || event.metaKey) && !event.altKey;
    if (isCommand && event.key.toLowerCase() === "f") {
      event.preventDefault();
      this.open();
    } else if (event.key === "Escape" && !this.root.hidden && !event.defaultPrevented) {
      event.preventDefault();
      this.close();
    }
  }

  open() {
    const [start, end] = this.editor.selection;
    const selected = this.editor.text.slice(start, end);
    if (selected && !selected.includes("\n")) this.input.value = selected;
    this.root.hidden = false;
    this.input.focus();
    this.input.select();
    this.search({ stays: true });
  }

  close() {
    this.root.hidden = true;
    this.editor.setMarks("found", []);
    this.editor.setMarks("found-current", []);
    this.editor.area.focus();
  }

  search({ stays }) {
    this.matches = matchesOf(this.editor.text, this.input.value);
    const from = this.editor.selection[0];
    const next = this.matches.findIndex((match) => match.start >= from);
    this.current = this.matches.length === 0 ? -1 : Math.max(0, next);
    this.show(!stays);
  }

  go(by) {
    if (this.matches.length === 0) return;
    this.current = (this.current + by + this.matches.length) % this.matches.length;
    this.show(true);
  }

  show(moves) {
    const { matches, current, editor } = this;
    const many = matches.length >= MOST_MATCHES ? "+" : "";
    this.count.textContent = this.input.value === "" ? "" : matches.length === 0 ? "no match" : `${current + 1} of ${matches.length}${many}`;
    this.root.classList.toggle("nothing", this.input.value !== "" && matches.length === 0);
    editor.setMarks("found", matches);
    editor.setMarks("found-current", current >= 0 ? [matches[current]] : []);
    if (moves && current >= 0) editor.select(matches[current].start, matches[current].end, { focus: false });
  }
}

/** Where a text contains another, in any case of letters. */
export function matchesOf(text, wanted) {
  if (wanted === "") return [];
  const pattern = new RegExp(wanted.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "giu");
  const found = [];
  for (const match of text.matchAll(pattern)) {
    found.push({ start: match.index, end: match.index + match[0].length });
    if (found.length >= MOST_MATCHES) break;
  }
  return found;
}
