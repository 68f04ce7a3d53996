import { test } from "node:test";
import assert from "node:assert/strict";
import { applyChanges, changesOf } from "../../../src/page/assets/graph_edits.js";
import { endOf, freeName, nameProblem, readGraph, subjectOf } from "../../../src/page/assets/graph_text.js";
import { parse } from "../../../src/page/assets/json_text.js";

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
