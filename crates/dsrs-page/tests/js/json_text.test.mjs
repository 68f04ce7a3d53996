import { test } from "node:test";
import assert from "node:assert/strict";
import { contextAt, find, parse, plain, pointerAt, rangeOf } from "../../src/assets/json_text.js";

const marked = (text, pointer) => {
  const { start, end } = rangeOf(parse(text), pointer);
  return text.slice(start, end);
};

/** The context at `|`. */
const at = (text) => {
  const place = text.indexOf("|");
  const tree = parse(text.slice(0, place) + text.slice(place + 1));
  const { path, role, from, to, typed } = contextAt(tree, place);
  return `${role} ${path.join("/")} [${tree.text.slice(from, to)}] ${typed}`.trimEnd();
};

test("a valid text reads as JSON.parse reads it", () => {
  const text = '{"a": [1, -2.5e3, true, null, "x\\n\\u00e9"], "b": {}, "c": [[]]}';
  const tree = parse(text);
  assert.deepEqual(plain(tree.root), JSON.parse(text));
  assert.deepEqual(tree.errors, []);
});

test("a pointer finds its text, and what is missing its nearest part", () => {
  const text = '{"nodes": {"a/b": {"strategy": "pedict"}}, "edges": [{"from": "x.y",\n "to": 1}]}';
  assert.equal(marked(text, "/nodes/a~1b/strategy"), '"pedict"');
  assert.equal(marked(text, "/nodes/a~1b"), '"a/b"');
  assert.equal(marked(text, "/nodes/a~1b/config/n"), '"a/b"');
  assert.equal(marked(text, "/edges/0"), '{"from": "x.y",');
  assert.equal(marked(text, "/edges/0/from"), '"x.y"');
  assert.equal(marked(text, ""), "{");
});

test("a broken text still has its readable parts", () => {
  const broken = [
    ['{"a": 1 "b": 2}', { a: 1, b: 2 }, "a comma is missing"],
    ['{"a": , "b": 2}', { b: 2 }, "a value is missing"],
    ['{"a" "b": 2}', { b: 2 }, "a colon and a value are missing"],
    ['{"a": [1, 2,], "b": tru}', { a: [1, 2], b: "tru" }, "a comma before `]`"],
    ['{"a": "x\n, "b": {"c": 1', { a: "x", b: { c: 1 } }, "the closing quote is missing"],
    ['{"a": {"b": [1, {"c": 2}', { a: { b: [1, { c: 2 }] } }, "the closing `]` is missing"],
    ["", undefined, "a value is missing at the end"],
    ["{}}", {}, "text behind the end of the document"],
  ];
  for (const [text, value, message] of broken) {
    const tree = parse(text);
    assert.deepEqual(plain(tree.root), value, text);
    assert.ok(tree.errors.some((error) => error.message === message), `${text}: ${JSON.stringify(tree.errors)}`);
  }
});

test("no prefix of a definition, and no text with a character removed, stops the reader", () => {
  const text = '{"name": "a", "nodes": {"x": {"strategy": "p", "config": {"n": [1, {"d": -1.5}]}}}, "edges": [{"from": "a.b"}]}';
  for (let end = 0; end <= text.length; end += 1) {
    for (const piece of [text.slice(0, end), text.slice(0, end) + text.slice(end + 1), `${text.slice(0, end)}]}${text.slice(end)}`]) {
      const tree = parse(piece);
      for (let place = 0; place <= piece.length; place += 3) contextAt(tree, place);
    }
  }
});

test("deep nesting ends with an error instead of a stack", () => {
  assert.ok(parse("[".repeat(100000)).errors.some((error) => error.message === "too deep"));
});

test("a position knows what may be written there", () => {
  assert.equal(at('{|}'), "key  []");
  assert.equal(at('{"na|"}'), 'key  ["na"] na');
  assert.equal(at('{"name": |}'), "value name []");
  assert.equal(at('{"name": "a|b"}'), 'value name ["ab"] a');
  assert.equal(at('{"name": "ab"|}'), "none  []");
  assert.equal(at('{"a": {"b": [1, |]}}'), "value a/b/1 []");
  assert.equal(at('{"a": [{"from": "x.|"}]}'), 'value a/0/from ["x."] x.');
  assert.equal(at('{"a": 1,\n  |\n}'), "key  []");
  assert.equal(at('{"a": 1 |}'), "none  []");
  assert.equal(at('{"a": tr|, "b": 1}'), "value a [tr] tr");
  assert.equal(at('{"a": {"x": "|'), 'value a/x ["]');
});

test("a position has a pointer", () => {
  const text = '{"nodes": {"a": {"strategy": "predict"}}, "edges": [{}, {"from": "a.b"}]}';
  assert.equal(pointerAt(parse(text), text.indexOf("predict")), "/nodes/a/strategy");
  assert.equal(pointerAt(parse(text), text.indexOf("a.b")), "/edges/1/from");
  assert.equal(find(parse(text).root, "/edges/1/from").value, "a.b");
});

test("a definition of 200 KB is read in a moment", () => {
  const nodes = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`node_${n}`, { strategy: "predict", signature: "x".repeat(300), config: {} }]));
  const text = JSON.stringify({ nodes }, null, 2);
  assert.ok(text.length > 180_000);
  const start = performance.now();
  parse(text);
  assert.ok(performance.now() - start < 250);
});
