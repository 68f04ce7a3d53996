// The editor of a graph: puts text, completion, checks, picture and saving together.

import { assignability } from "./assignable.js";
import { CompletionPopup } from "./completion_popup.js";
import { complete } from "./definition_completion.js";
import { Problem, list, send } from "./api.js";
import { debounced, element, prose } from "./element.js";
import { FindBar } from "./find_bar.js";
import { Gestures } from "./gestures.js";
import { applyChanges, changesOf } from "./graph_edits.js";
import { readGraph, subjectOf } from "./graph_text.js";
import { find, parse, pointerAt, rangeOf, steps } from "./json_text.js";
import { format } from "./json_format.js";
import { inspector } from "./inspector.js";
import { LivePicture, note } from "./live_picture.js";
import { PortDrag } from "./port_drag.js";
import { ProblemList } from "./problem_list.js";
import { definitionText, initialText, save } from "./save.js";
import { TextEditor } from "./text_editor.js";
import { Validation, problemsOf } from "./validation.js";

class GraphEditor {
  constructor(form) {
    this.form = form;
    this.graphName = form.dataset.graph;
    this.server = { strategies: new Map(), models: [], graphs: [], ports: undefined, assignable: assignability(), unsigned: new Set(form.dataset.unsigned.split(" ")) };
    const area = form.querySelector("textarea");
    const served = area.value;
    area.value = initialText(served);
    this.base = this.graphName === undefined ? undefined : area.value;
    this.etag = undefined;
    this.build(area);
    this.validation = new Validation();
    this.wire();
    this.load();
  }

  build(area) {
    this.text = new TextEditor(area);
    this.status = element("p", { class: "editor-status", role: "status" });
    this.problemList = new ProblemList((problem) => this.text.select(problem.start, problem.end));
    const definition = this.form.querySelector(".definition");
    definition.prepend(this.toolbar());
    definition.append(this.status, this.problemList.root);
    const frame = element("div", { class: "picture-frame", "aria-label": "Picture of the graph", role: "region" }, note("The picture follows the text."));
    this.picture = new LivePicture(frame);
    this.parts = element("div", { class: "inspector", "aria-live": "polite" });
    this.gestures = new Gestures(this);
    this.dragging = new PortDrag(this);
    const button = (label, act) => element("button", { type: "button", class: "small", onclick: act }, label);
    const tools = element("div", { class: "pane-tools" }, element("h2", {}, "Picture"), button("Add node…", () => this.gestures.addNode()), button("Add input…", () => this.gestures.addInput()), (this.fitButton = element("button", { type: "button", class: "small", "aria-pressed": "false", onclick: () => this.fit() }, "Fit")));
    this.form.append(element("section", { class: "picture-pane", "aria-label": "Picture" }, tools, frame, this.parts));
    this.form.classList.add("live");
    this.popup = new CompletionPopup(this.text, (text, at) => complete(text, at, this.server));
    this.finder = new FindBar(this.text);
    this.inspect(undefined);
  }

  toolbar() {
    const button = (label, title, act) => element("button", { type: "button", class: "small", title, onclick: act }, label);
    return element("div", { class: "pane-tools" }, element("h2", {}, "Definition"),
      (this.undoButton = button("Undo", "Ctrl-Z", () => this.step("undo"))), (this.redoButton = button("Redo", "Ctrl-Y", () => this.step("redo"))),
      button("Find", "Ctrl-F", () => this.finder.open()), button("Format", "Write the text afresh", () => this.text.setText(format(this.text.text))));
  }

  /** Shows the whole picture, or its natural size. */
  fit() {
    const isFit = this.picture.root.classList.toggle("fit");
    this.fitButton.setAttribute("aria-pressed", String(isFit));
  }

  step(direction) {
    this.text.step(direction);
    this.text.area.focus();
  }

  wire() {
    const { text, validation, picture } = this;
    this.drawSoon = debounced(() => this.draw(), 200);
    text.addEventListener("change", () => this.changed());
    text.addEventListener("select", () => this.follow());
    text.addEventListener("announce", (event) => this.announce(event.detail));
    validation.addEventListener("checking", () => this.status.classList.add("busy"));
    validation.addEventListener("checked", (event) => this.checked(event.detail));
    // A large graph is shown in part: fitted into the frame it could not be read.
    picture.addEventListener("first", (event) => event.detail.width < 2 * picture.root.clientWidth && this.fit());
    picture.addEventListener("select", (event) => this.selected(event.detail));
    this.form.addEventListener("submit", (event) => this.submit(event));
    addEventListener("keydown", (event) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "s") {
        event.preventDefault();
        this.save();
      }
    });
    addEventListener("beforeunload", (event) => {
      if (this.isChanged()) event.preventDefault();
    });
  }

  /** What the completion needs to know, and the version that the text is of. */
  async load() {
    this.changed();
    this.validation.now(this.text.text);
    const fill = async (path, use) => use(await list(path).catch(() => []));
    fill("/v1/strategies", (items) => items.forEach((strategy) => this.server.strategies.set(strategy.name, strategy)));
    fill("/v1/models", (items) => (this.server.models = items));
    fill("/v1/graphs", (items) => (this.server.graphs = items));
    if (this.graphName === undefined) return;
    const { version } = this.form.dataset;
    const stored = await send("GET", `/v1/graphs/${encodeURIComponent(this.graphName)}?version=${version}`).catch(() => undefined);
    this.etag = stored?.etag ?? undefined;
    if (stored) this.base = definitionText(stored.text);
  }

  // The text changed -----------------------------------------------------------------------------------------------

  changed() {
    this.tree = undefined;
    this.undoButton.disabled = this.text.history.done.length === 0;
    this.redoButton.disabled = this.text.history.undone.length === 0;
    this.validation.later(this.text.text);
    this.drawSoon();
  }

  isChanged() {
    return !this.isStored && this.text.text !== (this.base ?? this.firstText ?? (this.firstText = this.text.text));
  }

  parsed() {
    if (this.tree?.text !== this.text.text) {
      this.tree = parse(this.text.text);
      this.read = readGraph(this.tree);
    }
    return this.tree;
  }

  graph() {
    this.parsed();
    return this.read;
  }

  async draw() {
    const tree = this.parsed();
    this.picture.setStale(tree.errors.length > 0);
    if (tree.errors.length > 0) return;
    try {
      this.server.ports = await this.picture.draw(tree.text);
      this.picture.mark(this.marked ?? []);
      this.inspect(this.picture.selected);
    } catch (error) {
      if (error instanceof Problem) this.picture.setStale(true);
    }
  }

  checked(result) {
    if (result.text !== this.text.text) return;
    this.status.classList.remove("busy");
    const { problems } = result;
    this.text.setMarks("problem", problems.map(({ start, end, detail }) => ({ start, end, message: detail })));
    this.marked = problems.filter((problem) => problem.pointer !== undefined).map((problem) => ({ subject: subjectOf(problem.pointer, this.graph()), detail: problem.detail }));
    this.picture.mark(this.marked);
    this.problemList.show(problems, (at) => this.text.lineOf(at) + 1);
    const words = problems.length === 1 ? "1 problem" : `${problems.length} problems`;
    this.say(result.failure ?? (result.isValid ? "The definition is valid." : words), result.isValid ? "good" : "bad");
  }

  say(text, tone) {
    this.status.replaceChildren(...prose(text));
    this.status.dataset.tone = tone ?? "";
  }

  /** A message for eyes and screen readers. */
  announce(text, isRefusal = false) {
    this.say(text, isRefusal ? "bad" : "");
  }

  // Text and picture follow each other -----------------------------------------------------------------------------

  /** The node or edge that the caret is in is selected in the picture. */
  follow() {
    if (this.parsed().errors.length > 0) return;
    const subject = subjectOf(pointerAt(this.parsed(), this.text.selection[0]), this.graph());
    const part = subject.node !== undefined ? { node: subject.node } : subject.edge ? { edge: subject.edge } : undefined;
    if (JSON.stringify(part) === JSON.stringify(this.followed)) return;
    this.followed = part;
    if (!part) return;
    this.picture.select(part, { isQuiet: true });
    this.picture.reveal(part);
    this.inspect(part);
  }

  selected(part) {
    this.followed = part;
    this.inspect(part);
    const pointer = part?.node !== undefined ? `/nodes/${part.node}` : part?.edge?.pointer;
    if (pointer && find(this.parsed().root, steps(pointer))) this.text.reveal(rangeOf(this.parsed(), pointer).start);
  }

  showNode(name) {
    const { start, end } = rangeOf(this.parsed(), `/nodes/${name}`);
    this.text.select(start, end);
  }

  inspect(part) {
    this.parts.replaceChildren(...inspector(part, this, this.gestures));
  }

  // Gestures and saving --------------------------------------------------------------------------------------------

  /** Applies one edit to the text; answers whether it could. */
  apply(edit) {
    try {
      const changes = changesOf(edit, this.text.text);
      this.text.apply(changes, { note: edit });
      const first = changes.at(-1);
      if (first) this.text.reveal(Math.min(first.start + first.inserted.length, this.text.text.length));
      if (first) this.text.reveal(Math.min(first.start + 2, this.text.text.length));
      this.announce(editWords(edit));
      this.drawSoon.cancel();
      this.draw();
      return true;
    } catch (error) {
      this.announce(error.message, true);
      return false;
    }
  }

  submit(event) {
    event.preventDefault();
    if (event.submitter?.value === "check") this.validation.now(this.text.text);
    else this.save();
  }

  async save() {
    const result = this.validation.result?.text === this.text.text ? this.validation.result : await this.validation.now(this.text.text);
    if (result && !result.isValid && result.problems.length > 0) return this.problemList.focus();
    const editor = this;
    return save({
      graph: this.graphName, base: this.base, etag: this.etag, text: this.text.text, history: this.text.history,
      announce: (text, isRefusal) => this.announce(text, isRefusal),
      stored: (answer) => {
        editor.isStored = true;
        location.assign(`/graphs/${encodeURIComponent(answer.value.name)}`);
      },
      refused: (problem) => this.refused(problem),
      takeTheirs: (text, etag, version) => {
        this.base = text;
        this.etag = etag ?? undefined;
        const input = this.form.querySelector("input[name=version]");
        if (input) input.value = version;
        this.text.reset(text);
        this.announce(`This is version ${version}.`);
      },
    });
  }

  refused(problem) {
    const problems = problem.problems.some((one) => one.pointer?.startsWith("/edits")) ? [] : problemsOf(problem, this.parsed());
    if (problems.length > 0) this.checked({ text: this.text.text, isValid: false, problems });
    else this.announce(problem.message, true);
  }
}

function editWords(edit) {
  switch (edit.op) {
    case "add_node": return `Added ${edit.name}.`;
    case "remove_node": return `Deleted ${edit.name} with its edges.`;
    case "rename_node": return `Renamed ${edit.name} to ${edit.to}.`;
    case "connect": return `Connected ${edit.from} to ${edit.to}.`;
    case "disconnect": return `Disconnected ${edit.from} from ${edit.to}.`;
    case "set_output": return `The output ${edit.name} comes from ${edit.from}.`;
    case "set_input": return `Added the input ${edit.name}.`;
    default: return `Deleted ${edit.name}.`;
  }
}

const form = document.querySelector("#editor");
if (form) new GraphEditor(form);
