import { test } from "node:test";
import assert from "node:assert/strict";
import { complete, newNode } from "../../src/assets/definition_completion.js";
import { matchesOf } from "../../src/assets/find_bar.js";
import { Problem } from "../../src/assets/api.js";
import { Validation } from "../../src/assets/validation.js";
import { assignability } from "../../src/assets/assignable.js";
import { indented, lineBreak, paired } from "../../src/assets/typing.js";
import { applyChanges } from "../../src/assets/graph_edits.js";

const moduleSchema = { type: "object", properties: { strategy: { type: "string" }, config: { type: "object" } }, required: ["strategy"] };
const strategies = new Map([
  { name: "predict", description: "Asks once.", calls_lm: true, config_schema: { type: "object", properties: {} } },
  { name: "majority", description: "Asks often.", calls_lm: true, config_schema: { type: "object", properties: { module: moduleSchema, n: { type: "integer", minimum: 1, maximum: 100, default: 5, description: "how many attempts are made" } }, required: ["module"] } },
  { name: "map", description: "Over a list.", calls_lm: true, config_schema: { type: "object", properties: { on_error: { enum: ["fail", "keep"], default: "fail" }, module: moduleSchema } } },
  { name: "strip", description: "Trims.", calls_lm: false, config_schema: { type: "object", properties: {} } },
].map((strategy) => [strategy.name, strategy]));
const ports = {
  inputs: [{ name: "ticket", type: "str" }],
  nodes: {
    triage: { inputs: [{ name: "ticket", type: "str" }], outputs: [{ name: "mood", type: "Mood" }, { name: "count", type: "int" }] },
    reply: { inputs: [{ name: "ticket", type: "str" }, { name: "share", type: "float" }], outputs: [{ name: "answer", type: "str" }] },
  },
};
const fits = { "int float": true, "Mood str": true };
const server = {
  strategies, ports, models: [{ name: "default", model: "m" }], graphs: [{ name: "desk", version: 2 }],
  assignable: async (from, to) => (from && to ? (from === to || fits[`${from} ${to}`] ? { assignable: true } : { assignable: false, reason: `${from} is not ${to}` }) : undefined),
};
const nodes = '"nodes": {"triage": {"strategy": "predict"}, "reply": {"strategy": "predict"}}';

/** The labels at `|`, with what an accepted first one makes of the text. */
async function at(marked) {
  const place = marked.indexOf("|");
  const text = marked.slice(0, place) + marked.slice(place + 1);
  const found = await complete(text, place, server);
  const labels = found?.items.map((item) => (item.note ? `(${item.label})` : item.label)) ?? [];
  const first = found?.items[0];
  return { labels, items: found?.items ?? [], accepted: first && text.slice(0, found.from) + first.insert + text.slice(found.to) };
}

test("members of the document are offered, without those that are there", async () => {
  const { labels, accepted } = await at('{"name": "a", |}');
  assert.deepEqual(labels, ["description", "expose", "types", "inputs", "nodes", "edges", "outputs"]);
  assert.equal(accepted, '{"name": "a", "description": ""}');
  assert.deepEqual((await at('{"expose": {"mcp": {"name": "a", |}}}')).labels, ["description"]);
  assert.deepEqual((await at('{"expose": {"openai": {|}}}')).labels, ["model", "input", "output"]);
});

test("a new member knows that the one before it lacks a comma", async () => {
  const found = async (text) => (await complete(text, text.length - 2, server)).needsComma;
  assert.equal(await found('{"name": "a"\n"ed"}'), true);
  assert.equal(await found('{"name": "a",\n"ed"}'), false);
  assert.equal(await found('{"ed"}'), false);
});

test("a member that has a value only changes its name", async () => {
  const { accepted } = await at('{"des|": "x"}');
  assert.equal(accepted, '{"description": "x"}');
});

test("strategies come with their documentation, those that ask a model first", async () => {
  const { labels, items, accepted } = await at('{"nodes": {"a": {"strategy": "|"}}}');
  assert.deepEqual(labels, ["predict", "majority", "map", "strip"]);
  assert.equal(items[1].documentation, "Asks often.");
  assert.equal(accepted, '{"nodes": {"a": {"strategy": "predict"}}}');
  assert.deepEqual((await at('{"nodes": {"a": {"strategy": "maj|"}}}')).labels, ["majority"]);
});

test("a config is completed from the schema of its strategy, also inside of a wrapped one", async () => {
  const { labels, items } = await at('{"nodes": {"a": {"strategy": "majority", "config": {|}}}}');
  assert.deepEqual(labels, ["module", "n"]);
  assert.equal(items[1].detail, "integer 1…100, default 5");
  assert.equal(items[1].documentation, "How many attempts are made");
  assert.equal(items[0].insert, '"module": {"strategy": ""}');
  const inner = '{"nodes": {"a": {"strategy": "majority", "config": {"module": {"strategy": "map", "config": {|}}}}}}';
  assert.deepEqual((await at(inner)).labels, ["on_error", "module"]);
  assert.deepEqual((await at(inner.replace("{|}", '{"on_error": |}'))).labels, ["fail", "keep"]);
  assert.deepEqual((await at('{"nodes": {"a": {"strategy": "majority", "config": {"module": {"strategy": "|"}}}}}')).labels.length, 4);
});

test("what may be connected is offered first, what may not last with the reason", async () => {
  const { labels, items } = await at(`{${nodes}, "edges": [{"from": "|", "to": "reply.share"}]}`);
  assert.deepEqual(labels, ["triage.count", "(input.ticket)", "(triage.mood)"]);
  assert.equal(items[1].documentation, "Does not fit: str is not float.");
  const to = await at(`{${nodes}, "edges": [{"from": "triage.mood", "to": "|"}]}`);
  assert.deepEqual(to.labels, ["reply.ticket", "(reply.share)"]);
  const fed = await at(`{${nodes}, "edges": [{"from": "input.ticket", "to": "reply.ticket"}, {"from": "triage.mood", "to": "|"}]}`);
  assert.deepEqual(fed.labels, ["(reply.ticket)", "(reply.share)"]);
  assert.equal(fed.items[0].note, "`input.ticket` feeds it already");
});

test("inputs of the graph are those that nodes lack, outputs those that nodes have", async () => {
  assert.deepEqual((await at(`{${nodes}, "inputs": {|}}`)).labels, ["ticket", "share"]);
  assert.equal((await at(`{${nodes}, "outputs": {|}}`)).items[0].insert, '"mood": "triage.mood"');
});

test("types are completed where types stand, also within a signature", async () => {
  const types = '"types": {"Mood": {"enum": {"calm": null}}}';
  assert.equal((await at(`{${types}, "inputs": {"a": "|"}}`)).labels[0], "Mood");
  assert.equal((await at(`{${types}, "nodes": {"a": {"signature": "x -> y: list[M|]"}}}`)).labels[0], "Mood");
  assert.deepEqual((await at(`{${types}, "nodes": {"a": {"signature": "x, M|"}}}`)).labels, []);
  const { accepted } = await at(`{${types}, "nodes": {"a": {"signature": "x -> y: Mo|"}}}`);
  assert.ok(accepted.includes('"x -> y: Mood"'), accepted);
  assert.deepEqual((await at('{"nodes": {"a": {"signature": {"inputs": [{"name": "x", "ty|"}]}}}}')).labels, ["type"]);
});

test("models and stored graphs are offered", async () => {
  assert.deepEqual((await at('{"nodes": {"a": {"lm": {"model": "|"}}}}')).labels, ["default"]);
  assert.deepEqual((await at('{"nodes": {"a": {"strategy": "graph", "config": {"graph": "|"}}}}')).labels, ["desk"]);
});

test("nothing is offered behind a value", async () => {
  assert.deepEqual((await at('{"name": "a" |}')).labels, []);
});

test("a new node has what its strategy requires", () => {
  assert.deepEqual(newNode(strategies.get("majority"), true), { strategy: "majority", signature: "question -> answer", config: { module: { strategy: "predict" } } });
  assert.deepEqual(newNode(strategies.get("strip"), false), { strategy: "strip" });
});

test("a later check ends the earlier one, and only its answer is reported", async () => {
  const asked = [];
  const ask = (text, signal) => new Promise((resolve) => {
    asked.push(signal);
    if (asked.length === 2) resolve({ name: text });
    else signal.addEventListener("abort", () => resolve("late"));
  });
  const validation = new Validation({ ask });
  const reports = [];
  validation.addEventListener("checked", (event) => reports.push(event.detail.graph));
  const first = validation.now('{"a": 1}');
  await validation.now('{"a": 2}');
  assert.equal(await first, undefined);
  assert.ok(asked[0].aborted);
  assert.deepEqual(reports, [{ name: '{"a": 2}' }]);
});

test("problems of a refusal have their place in the text", async () => {
  const text = '{"nodes": {"a": {"strategy": "x"}}}';
  const ask = async () => { throw new Problem(422, { errors: [{ pointer: "/nodes/a/strategy", code: "unknown_strategy", detail: "no" }] }); };
  const { problems } = await new Validation({ ask }).now(text);
  assert.equal(text.slice(problems[0].start, problems[0].end), '"x"');
  const broken = await new Validation({ ask: assert.fail }).now("{");
  assert.deepEqual([broken.isJson, broken.problems[0].detail], [false, "the closing `}` is missing"]);
});

test("two types are compared once", async () => {
  let asked = 0;
  const fits = assignability(async () => ({ assignable: (asked += 1) > 0 }));
  await Promise.all([fits("int", "float"), fits("int", "float"), fits("str", "str")]);
  assert.equal(await fits(undefined, "str"), undefined);
  assert.equal(asked, 1);
});

test("a search finds every case and no pattern", () => {
  assert.deepEqual(matchesOf("a.B a.b", "a.b").map((match) => match.start), [0, 4]);
  assert.deepEqual(matchesOf("aXb", "a.b"), []);
});

test("keys indent, break lines and pair signs", () => {
  const typed = (text, act) => {
    const [start, end] = [text.indexOf("|"), text.lastIndexOf("|")];
    const plain = text.replaceAll("|", "");
    const found = act(plain, start, start === end ? start : end - 1);
    if (!found) return undefined;
    const result = applyChanges(plain, found.changes);
    return `${result.slice(0, found.selection[1])}|${result.slice(found.selection[1])}`;
  };
  assert.equal(typed("a|", (...at) => indented(...at, false)), "a  |");
  assert.equal(typed("|a\nb|\nc", (...at) => indented(...at, false)), "  a\n  b|\nc");
  assert.equal(typed("  |a\n    b|", (...at) => indented(...at, true)), "a\n  b|");
  assert.equal(typed("  {|}", lineBreak), "  {\n    |\n  }");
  assert.equal(typed("  x|", lineBreak), "  x\n  |");
  const key = (sign) => (...at) => paired(...at, sign);
  assert.equal(typed("|", key("{")), "{|}");
  assert.equal(typed('"a|"', key('"')), '"a"|');
  assert.equal(typed('"a|"', key("[")), undefined);
  assert.equal(typed("[|]", key("Backspace")), "|");
  assert.equal(typed('{|"a": 1}', key('"')), '{"|""a": 1}');
  assert.equal(typed("x|", key("y")), undefined);
});
