import { test } from "node:test";
import assert from "node:assert/strict";
import { applyChanges, changesOf } from "../../src/assets/graph_edits.js";
import { endOf, freeName, nameProblem, readGraph, subjectOf } from "../../src/assets/graph_text.js";
import { parse } from "../../src/assets/json_text.js";
import { deletion } from "../../src/assets/gestures.js";
import { sourcesOf, targetsOf } from "../../src/assets/ports.js";
import { editsOf } from "../../src/assets/save.js";

const TEXT = `{
  "name": "desk",
  "nodes": {
    "triage": {"strategy":   "predict", "signature": "ticket -> mood"},
    "reply": {"strategy": "predict", "signature": "ticket, mood -> answer"}
  },
  "edges": [
    {"from": "triage.mood", "to": "reply.mood"},
    {"from": "input.ticket", "to": "reply.ticket"},
    {"from": "input.ticket", "to": "triage.ticket"}
  ],
  "outputs": {"answer": "reply.answer"}
}`;

const edited = (edit, text = TEXT) => applyChanges(text, changesOf(edit, text));
const graph = (text) => JSON.parse(text);

test("a new node stands behind the others, and the rest stays as it was written", () => {
  const text = edited({ op: "add_node", name: "sum", node: { strategy: "render", config: { template: "{{ a }}" } } });
  assert.ok(text.includes('"strategy":   "predict"'));
  assert.ok(text.includes('answer"},\n    "sum": {"strategy": "render", "config": {"template": "{{ a }}"}}\n  },'), text);
});

test("a removed node takes its edges with it", () => {
  const text = edited({ op: "remove_node", name: "triage" });
  assert.deepEqual(Object.keys(graph(text).nodes), ["reply"]);
  assert.deepEqual(graph(text).edges, [{ from: "input.ticket", to: "reply.ticket" }]);
});

test("a node that an output needs is not removed", () => {
  assert.throws(() => edited({ op: "remove_node", name: "reply" }), /The output `answer` comes from `reply`/);
});

test("a renamed node has its new name in edges and outputs", () => {
  const text = edited({ op: "rename_node", name: "reply", to: "answer" });
  assert.deepEqual(graph(text).outputs, { answer: "answer.answer" });
  assert.equal(graph(text).edges[1].to, "answer.ticket");
  assert.equal(text.split("\n").length, TEXT.split("\n").length);
});

test("edges connect and disconnect, also the first, the last and the only one", () => {
  const connected = edited({ op: "connect", from: "reply.answer", to: "triage.ticket" });
  assert.equal(graph(connected).edges.length, 4);
  assert.equal(edited({ op: "disconnect", from: "reply.answer", to: "triage.ticket" }, connected), TEXT);
  for (const { from, to } of graph(TEXT).edges) assert.equal(graph(edited({ op: "disconnect", from, to })).edges.length, 2);
  const one = '{"edges": [{"from": "a.b", "to": "c.d"}]}';
  assert.equal(edited({ op: "disconnect", from: "a.b", to: "c.d" }, one), '{"edges": []}');
  assert.deepEqual(graph(edited({ op: "connect", from: "a.b", to: "c.d" }, "{}")), graph(one));
  assert.deepEqual(graph(edited({ op: "connect", from: "a.b", to: "c.d" }, '{"edges": []}')), graph(one));
});

test("inputs and outputs are set and removed", () => {
  assert.equal(graph(edited({ op: "set_output", name: "mood", from: "triage.mood" })).outputs.mood, "triage.mood");
  assert.equal(graph(edited({ op: "set_output", name: "answer", from: "triage.mood" })).outputs.answer, "triage.mood");
  assert.deepEqual(graph(edited({ op: "remove_output", name: "answer" })).outputs, {});
  assert.deepEqual(graph(edited({ op: "set_input", name: "ticket", type: "str" })).inputs, { ticket: "str" });
});

test("an edit of a broken text is refused with its reason", () => {
  assert.throws(() => edited({ op: "connect", from: "a.b", to: "c.d" }, '{"edges": ['), /not JSON/);
  assert.throws(() => edited({ op: "disconnect", from: "a.b", to: "c.d" }), /There is no edge/);
});

test("names of nodes are free and valid", () => {
  assert.equal(freeName("predict", ["predict", "predict_2"]), "predict_3");
  assert.equal(nameProblem("a b", []), "A name has letters, digits and `_`, and does not begin with a digit.");
  assert.equal(nameProblem("input", []), "`input` is reserved.");
  assert.equal(nameProblem("ok", ["no"]), undefined);
});

test("a problem is about a node, an edge, an input or an output", () => {
  const read = readGraph(parse(TEXT));
  assert.deepEqual(subjectOf("/nodes/reply/signature", read), { node: "reply" });
  assert.deepEqual(subjectOf("/edges/0/from", read), { edge: { from: "triage.mood", to: "reply.mood", index: 0 } });
  assert.deepEqual(subjectOf("/outputs/answer", read), { output: "answer" });
  assert.deepEqual(endOf("a.b[0].c"), { node: "a", field: "b", path: "[0].c" });
});

test("a source knows its targets: those that fit first, the others with the reason", async () => {
  const ports = {
    inputs: [{ name: "ticket", type: "str" }],
    nodes: {
      triage: { inputs: [{ name: "ticket", type: "str" }], outputs: [{ name: "mood", type: "Mood" }] },
      reply: { inputs: [{ name: "ticket", type: "str" }, { name: "mood", type: "Mood" }, { name: "share", type: "float" }, { name: "tone", type: "str" }], outputs: [{ name: "answer", type: "str" }] },
    },
  };
  const server = { ports, assignable: async (from, to) => ({ assignable: to === "str" || from === to, reason: `${from} is not ${to}` }) };
  const shown = (found) => found.map(({ label, reason }) => (reason ? `${label}: ${reason}` : label));
  const read = readGraph(parse(TEXT));
  assert.deepEqual(shown(await targetsOf({ label: "triage.mood", type: "Mood" }, server, read)), [
    "reply.tone",
    "@output.answer",
    "triage.ticket: it is an input of the same node",
    "reply.ticket: `input.ticket` feeds it already",
    "reply.mood: it is connected already",
    "reply.share: Mood is not float",
  ]);
  const back = await targetsOf({ label: "reply.answer", type: "str" }, server, { ...read, edges: read.edges.slice(0, 2) });
  assert.ok(shown(back).includes("triage.ticket: it would close a circle"));
  assert.deepEqual(shown(await sourcesOf({ label: "reply.share", type: "float" }, server, read))[0], "input.ticket: str is not float");
});

test("what is selected has the edit that deletes it", () => {
  const read = readGraph(parse(TEXT));
  assert.deepEqual(deletion({ node: "reply" }, read), { op: "remove_node", name: "reply" });
  assert.deepEqual(deletion({ edge: { from: "triage.mood", to: "reply.mood", pointer: "/edges/0" } }, read), { op: "disconnect", from: "triage.mood", to: "reply.mood" });
  assert.deepEqual(deletion({ edge: { from: "reply.answer", to: "@output.answer" } }, read), { op: "remove_output", name: "answer" });
  assert.deepEqual(deletion({ port: "input.ticket" }, read), { op: "remove_input", name: "ticket" });
  assert.equal(deletion(undefined, read), undefined);
});

test("only gestures on the stored text are sent as edits", () => {
  const edit = { op: "set_output", name: "mood", from: "triage.mood" };
  const history = { notes: () => [edit] };
  assert.deepEqual(editsOf({ history, base: TEXT, text: edited(edit) }), [edit]);
  assert.equal(editsOf({ history, base: TEXT.replace("desk", "dusk"), text: edited(edit) }), undefined);
  assert.equal(editsOf({ history: { notes: () => undefined }, base: TEXT, text: TEXT }), undefined);
});
