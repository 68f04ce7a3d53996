// A text editor on a `<textarea>`: the text itself is transparent over a coloured copy of the visible lines. Has line
// numbers, marks, indentation, and its own undo, which covers changes by programs. Knows JSON by its colours only.

import { EditHistory, changeBetween } from "./edit_history.js";
import { element } from "./element.js";
import { segments } from "./json_highlight.js";
import { indented, lineBreak, paired } from "./typing.js";

/** Lines above and below the visible ones that are coloured too, so that scrolling shows no gap. */
const MARGIN = 12;

export class TextEditor extends EventTarget {
  /** Takes over a textarea. Dispatches `change` (detail: `{note, isTyped}`) and `select`. */
  constructor(textarea) {
    super();
    this.area = textarea;
    this.history = new EditHistory();
    this.marks = new Map();
    this.text = textarea.value;
    this.recorded = this.text;
    this.starts = lineStarts(this.text);
    this.tabLeaves = false;
    this.build();
    this.listen();
    this.paint();
  }

  build() {
    const { area } = this;
    this.numbers = element("div", { class: "numbers" });
    this.lines = element("div", { class: "lines" });
    this.hint = element("div", { class: "mark-hint", hidden: true, role: "tooltip" });
    const gutter = element("div", { class: "gutter", "aria-hidden": "true" }, this.numbers);
    const underlay = element("div", { class: "underlay", "aria-hidden": "true" }, this.lines);
    this.surface = element("div", { class: "surface" });
    this.root = element("div", { class: "text-editor" });
    area.replaceWith(this.root);
    this.surface.append(underlay, area, this.hint);
    this.root.append(gutter, this.surface);
    for (const [name, value] of [["spellcheck", "false"], ["autocomplete", "off"], ["autocapitalize", "off"], ["wrap", "off"]]) {
      area.setAttribute(name, value);
    }
    area.classList.add("live");
  }

  listen() {
    const { area } = this;
    area.addEventListener("beforeinput", (event) => this.beforeInput(event));
    area.addEventListener("input", (event) => this.afterInput(event));
    area.addEventListener("compositionend", () => this.take({}));
    area.addEventListener("keydown", (event) => this.keydown(event));
    area.addEventListener("scroll", () => this.paintSoon());
    area.addEventListener("mousemove", (event) => this.hover(event));
    area.addEventListener("mouseleave", () => (this.hint.hidden = true));
    document.addEventListener("selectionchange", () => {
      if (document.activeElement === area) this.selected();
    });
    new ResizeObserver(() => {
      this.sizes = undefined;
      this.paintSoon();
    }).observe(area);
  }

  selected() {
    this.paintSoon();
    this.dispatchEvent(new CustomEvent("select"));
  }

  get selection() {
    return [this.area.selectionStart, this.area.selectionEnd];
  }

  // Changes --------------------------------------------------------------------------------------------------------

  beforeInput(event) {
    this.selectionBefore = this.selection;
    if (event.inputType === "historyUndo" || event.inputType === "historyRedo") {
      event.preventDefault();
      this.step(event.inputType === "historyUndo" ? "undo" : "redo");
    }
  }

  afterInput(event) {
    if (event.isComposing) {
      this.show(this.area.value);
      return;
    }
    const joins = event.inputType === "insertText" || event.inputType === "deleteContentBackward";
    this.take({ joins, inputType: event.inputType, typed: event.data });
  }

  /** Records what a person changed in the textarea. */
  take({ joins = false, inputType, typed }) {
    const change = changeBetween(this.recorded, this.area.value);
    this.recorded = this.area.value;
    this.show(this.area.value);
    if (!change) return;
    this.history.record([change], { joins, selectionBefore: this.selectionBefore, selectionAfter: this.selection });
    this.changed({ isTyped: inputType === "insertText" || inputType === "deleteContentBackward", typed });
  }

  /** Shows a text, which may not be recorded yet, such as a composition. */
  show(text) {
    this.text = text;
    this.starts = lineStarts(text);
    this.shiftMarks();
    this.paintSoon();
  }

  /** Applies changes in their order as one step. `selection` is the one behind them, `note` what made them. */
  apply(changes, { note, selection, isQuiet = false } = {}) {
    if (changes.length === 0) return;
    const selectionBefore = this.selection;
    this.replace(changes, selection);
    this.history.record(changes, { note, selectionBefore, selectionAfter: this.selection });
    this.changed({ note, isTyped: isQuiet });
  }

  replace(changes, selection) {
    for (const { start, removed, inserted } of changes) {
      this.area.setRangeText(inserted, start, start + removed.length, "preserve");
    }
    if (selection) this.area.setSelectionRange(...selection);
    this.recorded = this.area.value;
    this.show(this.area.value);
  }

  /** Replaces the whole text as one step. */
  setText(text, note) {
    const change = changeBetween(this.text, text);
    if (change) this.apply([change], { note, selection: [0, 0] });
  }

  /** Starts anew with a text: nothing to undo. */
  reset(text) {
    this.area.value = text;
    this.replace([], [0, 0]);
    this.history.clear();
    this.changed({});
  }

  step(direction) {
    const found = this.history[direction]();
    if (!found) return;
    this.replace(found.changes, found.selection);
    this.reveal(this.selection[0]);
    this.changed({ isStep: true });
  }

  changed(detail) {
    this.dispatchEvent(new CustomEvent("change", { detail }));
  }

  // Keys -----------------------------------------------------------------------------------------------------------

  keydown(event) {
    if (event.defaultPrevented || event.isComposing) return;
    const isCommand = (event.ctrlKey || event.metaKey) && !event.altKey;
    const key = event.key.toLowerCase();
    if (isCommand && key === "z") return this.handled(event, () => this.step(event.shiftKey ? "redo" : "undo"));
    if (isCommand && key === "y") return this.handled(event, () => this.step("redo"));
    if (event.key === "Escape") {
      this.tabLeaves = true;
      this.dispatchEvent(new CustomEvent("announce", { detail: "Tab leaves the editor now." }));
      return;
    }
    if (event.key === "Tab" && !isCommand && !this.tabLeaves) {
      return this.handled(event, () => this.type(indented(this.text, ...this.selection, event.shiftKey)));
    }
    if (event.key !== "Tab" && event.key !== "Shift") this.tabLeaves = false;
    if (isCommand || event.altKey) return;
    const typed = event.key === "Enter" && !event.shiftKey ? lineBreak(this.text, ...this.selection)
      : event.key.length === 1 || event.key === "Backspace" ? paired(this.text, ...this.selection, event.key) : undefined;
    if (typed) this.handled(event, () => this.type(typed));
  }

  handled(event, act) {
    event.preventDefault();
    act();
  }

  type({ changes, selection }) {
    if (changes.length > 0) this.apply(changes, { selection, isQuiet: true });
    else this.area.setSelectionRange(...selection);
    this.reveal(selection[1]);
  }

  // Places ---------------------------------------------------------------------------------------------------------

  /** The line of a position, from 0. */
  lineOf(at) {
    let [low, high] = [0, this.starts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.starts[middle] <= at) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  lineText(line) {
    const end = this.starts[line + 1];
    return this.text.slice(this.starts[line], end === undefined ? this.text.length : end - 1);
  }

  /** Selects a range, scrolls it into view and focuses the text. */
  select(start, end, { focus = true } = {}) {
    if (focus) this.area.focus({ preventScroll: true });
    this.area.setSelectionRange(start, end);
    this.reveal(start);
    this.selected();
  }

  /** Scrolls to a position, without moving what is visible already. */
  reveal(at) {
    const { height, area } = this.metrics();
    const line = this.lineOf(at);
    const top = line * height;
    if (top < area.scrollTop + height) area.scrollTop = Math.max(0, top - height * 3);
    else if (top + height * 2 > area.scrollTop + area.clientHeight) area.scrollTop = top - area.clientHeight + height * 4;
    this.paint();
    const left = (at - this.starts[line]) * this.metrics().width;
    if (left < area.scrollLeft + 40) area.scrollLeft = Math.max(0, left - 80);
    else if (left > area.scrollLeft + area.clientWidth - 60) area.scrollLeft = left - area.clientWidth + 120;
  }

  /** Sizes of the text, read again when the editor's size changes. */
  metrics() {
    if (!this.sizes) {
      const style = getComputedStyle(this.area);
      const context = document.createElement("canvas").getContext("2d");
      context.font = style.font;
      const width = context.measureText("0".repeat(50)).width / 50;
      const [height, top, left] = [style.lineHeight, style.paddingTop, style.paddingLeft].map(parseFloat);
      this.sizes = { area: this.area, height, width, top, left, visible: this.area.clientHeight };
    }
    return this.sizes;
  }

  /** The place of a position in the window; nothing if its line is not visible. */
  rectAt(at) {
    this.paint();
    const line = this.lineOf(at);
    const row = [...this.lines.children].find((child) => Number(child.dataset.line) === line);
    if (!row) return undefined;
    let rest = at - this.starts[line];
    for (const part of row.childNodes) {
      const node = part.firstChild;
      if (node && rest <= node.length) return placeIn(node, rest, row);
      rest -= node?.length ?? 0;
    }
    const { left, top, bottom } = row.getBoundingClientRect();
    return { left, top, bottom };
  }

  // Marks ----------------------------------------------------------------------------------------------------------

  /** Replaces the marks of a kind: `[{start, end, message?}]`. */
  setMarks(kind, ranges) {
    this.marks.set(kind, ranges.map((range) => ({ ...range, kind })).sort((a, b) => a.start - b.start));
    this.marksText = this.text;
    this.paintSoon();
  }

  /** Marks move with the text until they are set anew. */
  shiftMarks() {
    const change = changeBetween(this.marksText ?? this.text, this.text);
    this.marksText = this.text;
    if (!change) return;
    const [end, by] = [change.start + change.removed.length, change.inserted.length - change.removed.length];
    const moved = (place) => (place >= end ? place + by : Math.min(place, change.start + change.inserted.length));
    for (const [kind, ranges] of this.marks) {
      this.marks.set(kind, ranges.map((mark) => ({ ...mark, start: moved(mark.start), end: moved(mark.end) })));
    }
  }

  hover(event) {
    const { height, width, top, left, area } = this.metrics();
    const box = area.getBoundingClientRect();
    const line = Math.floor((event.clientY - box.top - top + area.scrollTop) / height);
    const column = Math.round((event.clientX - box.left - left + area.scrollLeft) / width);
    const inLine = line >= 0 && line < this.starts.length && column <= this.lineText(line).length;
    const at = inLine ? this.starts[line] + column : -1;
    const found = [...this.marks.values()].flat().filter((mark) => mark.message && at >= mark.start && at <= mark.end);
    this.hint.hidden = found.length === 0;
    if (found.length === 0) return;
    this.hint.textContent = found.map((mark) => mark.message).join("\n");
    this.hint.style.left = `${Math.max(0, Math.min(event.clientX - box.left, box.width - 260))}px`;
    this.hint.style.top = `${(line + 1) * height + top - area.scrollTop + 4}px`;
  }

  // Painting -------------------------------------------------------------------------------------------------------

  paintSoon() {
    this.painting ??= requestAnimationFrame(() => this.paint());
  }

  paint() {
    cancelAnimationFrame(this.painting);
    this.painting = undefined;
    const { area, height, top, visible } = this.metrics();
    if (!height) return;
    const [scrollTop, scrollLeft] = [area.scrollTop, area.scrollLeft];
    const first = Math.max(0, Math.floor((scrollTop - top) / height) - MARGIN);
    const last = Math.min(this.starts.length - 1, first + Math.ceil(visible / height) + 2 * MARGIN);
    const current = this.lineOf(area.selectionEnd);
    const rows = [];
    const numbers = [];
    for (let line = first; line <= last; line += 1) {
      const marks = this.marksIn(line);
      const isCurrent = line === current && document.activeElement === area;
      const problem = marks.some((mark) => mark.kind === "problem") ? " problem" : "";
      numbers.push(element("div", { class: (isCurrent ? "current" : "") + problem }, String(line + 1)));
      rows.push(this.row(line, marks, isCurrent));
    }
    this.lines.replaceChildren(...rows);
    this.numbers.replaceChildren(...numbers);
    const offset = first * height - scrollTop;
    this.lines.style.transform = `translate(${-scrollLeft}px, ${offset}px)`;
    this.numbers.style.transform = `translateY(${offset}px)`;
    this.root.style.setProperty("--digits", String(String(this.starts.length).length));
  }

  row(line, marks, isCurrent) {
    const parts = segments(this.lineText(line), marks).map(({ text, classes }) => element("span", { class: classes.join(" ") || null }, text));
    return element("div", { class: isCurrent ? "line current" : "line", "data-line": line }, parts);
  }

  marksIn(line) {
    const start = this.starts[line];
    const end = start + this.lineText(line).length;
    const found = [];
    for (const ranges of this.marks.values()) {
      for (const mark of ranges) {
        if (mark.start > end) break;
        if (mark.end < start || (mark.end === start && mark.start < start)) continue;
        found.push({ kind: mark.kind, start: Math.max(0, mark.start - start), end: Math.min(end, mark.end) - start });
      }
    }
    return found;
  }
}

function placeIn(node, offset, row) {
  const range = document.createRange();
  range.setStart(node, offset);
  range.setEnd(node, offset);
  const { left } = range.getBoundingClientRect();
  const { top, bottom } = row.getBoundingClientRect();
  return { left, top, bottom };
}

function lineStarts(text) {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}
