// Saving a definition: shows what changes, stores it if the version is still the newest, and shows both if it is not.

import { open } from "./choice_dialog.js";
import { changeWords, diffView } from "./diff_view.js";
import { element } from "./element.js";
import { format, formatWithout } from "./json_format.js";
import { Problem, send } from "./api.js";
import { applyChanges, changesOf } from "./graph_edits.js";

/** Members of a graph that only the server writes. */
const READ_ONLY = ["id", "version", "state_version", "content_hash", "created_at", "updated_at", "state"];

/** The definition in an answer of the API, as the editor writes it. */
export function definitionText(answer) {
  return formatWithout(answer, READ_ONLY);
}

/** The edits if the text was changed by nothing but gestures, and they lead from the stored text to this one. */
export function editsOf({ history, base, text }) {
  const notes = history.notes();
  if (base === undefined || !notes || notes.length === 0) return undefined;
  const edited = notes.reduce((now, edit) => applyChanges(now, changesOf(edit, now)), base);
  return edited === text ? notes : undefined;
}

/** `host` has `graph` (its name, or nothing for a new one), `base`, `etag`, `text`, `history`, `refused(problem)`, `stored(answer)`, `takeTheirs(text, etag)`. */
export async function save(host) {
  if (host.graph && host.text === host.base) return host.announce("Nothing changed.");
  const confirmed = host.graph ? await confirm(host) : true;
  return confirmed ? store(host, host.etag) : undefined;
}

function confirm(host) {
  const edits = editsOf(host);
  const way = edits ? `${edits.length} ${edits.length === 1 ? "edit" : "edits"}, sent as PATCH` : "the whole definition, sent as PUT";
  const content = [
    element("p", { class: "muted" }, `${changeWords(host.base, host.text)}: ${way}. The predictor state that still fits is carried over.`),
    diffView(host.base, host.text, "Changes"),
  ];
  return open("Save a new version", [...content, actions((close) => [
    element("button", { type: "button", onclick: () => close(undefined) }, "Continue editing"),
    element("button", { type: "button", class: "primary", onclick: () => close(true) }, "Save"),
  ])], wire, { isWide: true });
}

let closing;

function wire(close) {
  closing = close;
}

function actions(make) {
  return element("div", { class: "dialog-actions" }, make((value) => closing(value)));
}

async function store(host, etag, { isWhole = false } = {}) {
  const edits = isWhole ? undefined : editsOf(host);
  const headers = etag ? { "If-Match": etag } : {};
  const path = host.graph ? `/v1/graphs/${encodeURIComponent(host.graph)}` : "/v1/graphs";
  try {
    const answer = !host.graph ? await send("POST", path, { body: host.text })
      : edits ? await send("PATCH", path, { body: { edits }, headers }) : await send("PUT", path, { body: host.text, headers });
    return host.stored(answer);
  } catch (error) {
    if (!(error instanceof Problem)) return host.announce("The server does not answer. Nothing was saved.", true);
    if (error.status === 412) return conflict(host);
    return host.refused(error);
  }
}

/** Both versions, and what to do: theirs, mine, or back to the text. */
async function conflict(host) {
  const theirs = await send("GET", `/v1/graphs/${encodeURIComponent(host.graph)}`);
  const text = definitionText(theirs.text);
  const views = [
    ["What they changed", host.base, text],
    ["What you changed", host.base, host.text],
    ["Theirs against yours", text, host.text],
  ];
  const content = [
    element("p", {}, `Version ${theirs.value.version} was stored since you opened the graph.`),
    ...views.map(([title, before, after], index) => element("details", { open: index < 2 }, element("summary", {}, `${title}: ${changeWords(before, after)}`), diffView(before, after, title))),
    actions((close) => [
      element("button", { type: "button", onclick: () => close("edit") }, "Continue editing"),
      element("button", { type: "button", onclick: () => close("theirs") }, "Take theirs"),
      element("button", { type: "button", class: "danger", onclick: () => close("mine") }, "Overwrite with mine"),
    ]),
  ];
  const choice = await open("The graph has a newer version", content, wire, { isWide: true });
  if (choice === "theirs") return host.takeTheirs(text, theirs.etag, theirs.value.version);
  return choice === "mine" ? store(host, theirs.etag, { isWhole: true }) : undefined;
}

/** The text that the server sent, as the editor writes it. */
export function initialText(text) {
  return format(text);
}
