// The completion of the editor: a list at the caret with documentation beside it. Opens while typing and by Ctrl-Space;
// arrows choose, Enter and Tab accept, Escape closes. Knows no graph: `suggest(text, at)` finds the suggestions.

import { element, prose } from "./element.js";

const MOST_SHOWN = 200;
const OPENS = /^["{[,.:\w]$/;

export class CompletionPopup {
  constructor(editor, suggest) {
    this.editor = editor;
    this.suggest = suggest;
    this.items = [];
    this.chosen = 0;
    this.turn = 0;
    this.build();
    this.listen();
  }

  build() {
    this.list = element("ul", { class: "completion-list", role: "listbox", id: "completion-list", "aria-label": "Suggestions", tabindex: "0" });
    this.detail = element("div", { class: "completion-detail" });
    this.root = element("div", { class: "completion", hidden: true }, this.list, this.detail);
    this.count = element("div", { class: "sr", role: "status" });
    this.editor.root.append(this.root, this.count);
    const { area } = this.editor;
    area.setAttribute("aria-autocomplete", "list");
    area.setAttribute("aria-controls", "completion-list");
  }

  listen() {
    const { editor } = this;
    editor.area.addEventListener("keydown", (event) => this.keydown(event), { capture: true });
    editor.area.addEventListener("blur", () => this.close());
    editor.area.addEventListener("scroll", () => this.place());
    editor.addEventListener("change", (event) => this.changed(event.detail));
    editor.addEventListener("select", () => {
      if (this.isOpen && !this.isChanging) this.follow();
    });
    this.list.addEventListener("mousedown", (event) => {
      event.preventDefault();
      const row = event.target.closest("[data-index]");
      if (row) this.accept(Number(row.dataset.index));
    });
  }

  get isOpen() {
    return !this.root.hidden;
  }

  changed({ isTyped, typed, isAccepted }) {
    if (isAccepted) return void this.open({ isAsked: false });
    if (!isTyped) return this.close();
    const last = typed ?? this.editor.text[this.editor.selection[0] - 1] ?? "";
    if (this.isOpen || OPENS.test(last)) this.open({ isAsked: false });
  }

  /** The caret moved without a change: the list stays if it is still for this place. */
  follow() {
    const [start, end] = this.editor.selection;
    if (start !== end || start < this.from || start > this.to) this.close();
  }

  /** Looks for suggestions at the caret. Those for an earlier caret are dropped. */
  async open({ isAsked }) {
    const [at, end] = this.editor.selection;
    if (at !== end) return this.close();
    const turn = (this.turn += 1);
    const text = this.editor.text;
    const found = await this.suggest(text, at);
    if (turn !== this.turn || text !== this.editor.text || this.editor.selection[0] !== at) return undefined;
    if (!found || (!isAsked && isWritten(found, text))) return this.close();
    Object.assign(this, { items: found.items.slice(0, MOST_SHOWN), from: found.from, to: found.to, needsComma: found.needsComma, chosen: 0 });
    this.show();
    return undefined;
  }

  show() {
    const rows = this.items.map((item, index) => element("li", {
      role: "option", id: `completion-${index}`, "data-index": index, class: item.note ? "unfit" : null, "aria-selected": "false", title: item.note,
    }, element("span", { class: `kind ${item.kind}`, "aria-hidden": "true" }, item.kind[0]), element("span", { class: "label" }, item.label), element("span", { class: "type" }, item.detail ?? "")));
    this.list.replaceChildren(...rows);
    this.root.hidden = false;
    this.choose(0);
    this.place();
    this.count.textContent = `${this.items.length} suggestions`;
  }

  place() {
    if (!this.isOpen) return;
    const rect = this.editor.rectAt(Math.min(this.from, this.editor.text.length));
    const frame = this.editor.root.getBoundingClientRect();
    if (!rect || rect.top < frame.top - 5 || rect.bottom > frame.bottom + 5) return this.close();
    const width = this.root.offsetWidth;
    const left = Math.max(4, Math.min(rect.left - frame.left, frame.width - width - 4));
    const isBelow = rect.bottom + this.root.offsetHeight + 8 < window.innerHeight || rect.top < this.root.offsetHeight;
    this.root.style.left = `${left}px`;
    this.root.style.top = isBelow ? `${rect.bottom - frame.top + 2}px` : `${rect.top - frame.top - this.root.offsetHeight - 2}px`;
  }

  choose(index) {
    const rows = this.list.children;
    rows[this.chosen]?.setAttribute("aria-selected", "false");
    this.chosen = (index + rows.length) % rows.length;
    const row = rows[this.chosen];
    row.setAttribute("aria-selected", "true");
    row.scrollIntoView({ block: "nearest" });
    this.editor.area.setAttribute("aria-activedescendant", row.id);
    const item = this.items[this.chosen];
    const documentation = item.documentation ? element("p", {}, prose(item.documentation)) : undefined;
    this.detail.replaceChildren(element("p", { class: "what" }, element("b", {}, item.label), " ", element("span", {}, item.detail ?? "")), documentation ?? "");
    this.detail.hidden = !item.documentation;
  }

  keydown(event) {
    if ((event.ctrlKey || event.metaKey) && event.code === "Space") return this.handled(event, () => this.open({ isAsked: true }));
    if (!this.isOpen) return undefined;
    const page = 8;
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in steps) return this.handled(event, () => this.choose(this.chosen + steps[event.key]));
    if (event.key === "PageDown") return this.handled(event, () => this.choose(Math.min(this.chosen + page, this.items.length - 1)));
    if (event.key === "PageUp") return this.handled(event, () => this.choose(Math.max(this.chosen - page, 0)));
    if (event.key === "Enter" || event.key === "Tab") return this.handled(event, () => this.accept(this.chosen));
    if (event.key === "Escape") return this.handled(event, () => this.close());
    if (event.ctrlKey || event.metaKey || event.altKey) this.close();
    return undefined;
  }

  handled(event, act) {
    event.preventDefault();
    event.stopPropagation();
    act();
  }

  accept(index) {
    const item = this.items[index];
    const { from, to, editor, needsComma } = this;
    this.close();
    const comma = needsComma ? commaBefore(editor.text, from) : undefined;
    // Behind a new member there may be another one.
    const isFollowed = item.kind === "member" && /^\s*"/.test(editor.text.slice(to));
    const inserted = isFollowed ? `${item.insert},${/^\s/.test(editor.text[to]) ? "" : " "}` : item.insert;
    const changes = [{ start: from, removed: editor.text.slice(from, to), inserted }];
    if (comma) changes.push(comma);
    const caret = from + (item.caret ?? item.insert.length) + (comma ? 1 : 0);
    editor.apply(changes, { selection: [caret, caret] });
    const isHole = item.caret !== undefined && item.caret < item.insert.length;
    if (isHole) this.open({ isAsked: false });
  }

  close() {
    this.turn += 1;
    this.root.hidden = true;
    this.editor.area.removeAttribute("aria-activedescendant");
    this.count.textContent = "";
  }
}

/** Whether the only suggestion is written already. */
function isWritten({ items, from, to }, text) {
  return items.length === 1 && text.slice(from, to) === items[0].insert;
}

/** The comma that the part before a new one needs. */
function commaBefore(text, at) {
  const end = text.slice(0, at).trimEnd().length;
  return { start: end, removed: "", inserted: "," };
}
