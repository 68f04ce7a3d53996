// Dialogs of the editor that ask for one thing: a choice from a list with a search, or a few texts. Know no graph.

import { element, prose } from "./element.js";

/**
 * Asks for one of `items` (`{label, detail?, documentation?, reason?}`; one with a `reason` cannot be chosen). Answers the
 * item, or nothing.
 */
export function choose(title, items, { placeholder = "Search" } = {}) {
  const input = element("input", { type: "search", placeholder, "aria-label": placeholder, autocomplete: "off", role: "combobox", "aria-expanded": "true", "aria-controls": "choices", "aria-autocomplete": "list" });
  const list = element("ul", { class: "choices", role: "listbox", id: "choices", "aria-label": title, tabindex: "-1" });
  let shown = [];
  let current = 0;
  return open(title, [input, list], (close) => {
    const accept = (item) => item && !item.reason && close(item);
    const mark = (index) => {
      list.children[current]?.setAttribute("aria-selected", "false");
      current = Math.max(0, Math.min(index, shown.length - 1));
      const row = list.children[current];
      row?.setAttribute("aria-selected", "true");
      row?.scrollIntoView({ block: "nearest" });
      if (row) input.setAttribute("aria-activedescendant", row.id);
      else input.removeAttribute("aria-activedescendant");
    };
    const show = () => {
      const wanted = input.value.trim().toLowerCase();
      shown = items.filter((item) => `${item.label} ${item.detail ?? ""} ${item.documentation ?? ""}`.toLowerCase().includes(wanted));
      shown.sort((a, b) => Number(!a.label.toLowerCase().includes(wanted)) - Number(!b.label.toLowerCase().includes(wanted)));
      list.replaceChildren(...shown.map((item, index) => row(item, index, accept)));
      mark(0);
    };
    input.addEventListener("input", show);
    input.addEventListener("keydown", (event) => {
      const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 };
      if (event.key in steps) mark(current + steps[event.key]);
      else if (event.key === "Enter") accept(shown[current]);
      else return;
      event.preventDefault();
    });
    show();
  });
}

function row(item, index, accept) {
  const texts = [element("span", { class: "label" }, item.label), element("span", { class: "type" }, item.detail ?? "")];
  const more = item.reason ?? item.documentation;
  return element("li", { role: "option", id: `choice-${index}`, "aria-selected": "false", "aria-disabled": item.reason ? "true" : null, class: item.reason ? "unfit" : null, onclick: () => accept(item) },
    texts, more ? element("span", { class: "more" }, prose(more)) : undefined);
}

/** Asks for texts: `fields` are `{name, label, value?, check?}`, where `check(value)` answers a problem. Answers `{name: text}`, or nothing. */
export function askTexts(title, fields, act) {
  const inputs = fields.map((field) => element("input", { name: field.name, value: field.value ?? "", autocomplete: "off", spellcheck: "false", id: `ask-${field.name}`, "aria-describedby": `problem-${field.name}` }));
  const problems = fields.map((field) => element("span", { class: "refusal-text", role: "alert", id: `problem-${field.name}` }));
  const rows = fields.map((field, index) => element("label", { for: `ask-${field.name}` }, field.label, inputs[index], problems[index]));
  const button = element("button", { type: "submit", class: "primary" }, act);
  const form = element("form", { class: "fields" }, rows, element("div", { class: "dialog-actions" }, button));
  return open(title, [form], (close) => {
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const found = fields.map((field, index) => field.check?.(inputs[index].value.trim()));
      found.forEach((problem, index) => problems[index].replaceChildren(...prose(problem ?? "")));
      const first = found.findIndex(Boolean);
      if (first >= 0) inputs[first].focus();
      else close(Object.fromEntries(fields.map((field, index) => [field.name, inputs[index].value.trim()])));
    });
    queueMicrotask(() => inputs[0].select());
  });
}

/** Shows a dialog; `fill(close)` wires it. Answers what `close` was called with, or nothing. */
export function open(title, content, fill, { isWide = false } = {}) {
  const before = document.activeElement;
  const heading = element("h2", { id: "dialog-title" }, title);
  const dialog = element("dialog", { class: isWide ? "dialog wide" : "dialog", "aria-labelledby": "dialog-title" },
    element("header", {}, heading, element("button", { type: "button", class: "quiet", "aria-label": "Close", onclick: () => dialog.close() }, "×")), element("div", { class: "dialog-body" }, content));
  document.body.append(dialog);
  return new Promise((resolve) => {
    let answer;
    dialog.addEventListener("close", () => {
      dialog.remove();
      before?.focus?.({ preventScroll: true });
      resolve(answer);
    });
    dialog.addEventListener("mousedown", (event) => {
      if (event.target === dialog) dialog.close();
    });
    fill((value) => {
      answer = value;
      dialog.close();
    });
    dialog.showModal();
    dialog.querySelector("input")?.focus();
  });
}
