import { test } from "node:test";
import assert from "node:assert/strict";
import { segments, tokens } from "../../src/assets/json_highlight.js";
import { EditHistory, applyChange, changeBetween } from "../../src/assets/edit_history.js";
import { diffLines, diffWords, hunks } from "../../src/assets/diff.js";
import { format, formatValue, formatWithout } from "../../src/assets/json_format.js";

test("tokens have their kind, and markup is text like any other", () => {
  const line = '  "a\\"b": ["<b>", -1.5e3, true], "open';
  assert.deepEqual(
    tokens(line).map(({ start, end, kind }) => `${kind} ${line.slice(start, end)}`),
    ['key "a\\"b"', "sign :", "sign [", 'string "<b>"', "sign ,", "number -1.5e3", "sign ,", "word true", "sign ],", 'string "open'],
  );
});

test("marks cut tokens, and nothing of a line is lost", () => {
  const line = '"from": "x.y"';
  const parts = segments(line, [{ start: 9, end: 10, kind: "problem" }]);
  assert.equal(parts.map((part) => part.text).join(""), line);
  assert.deepEqual(parts.find((part) => part.text === "x").classes, ["t-string", "m-problem"]);
});

test("one change leads from a text to another", () => {
  assert.deepEqual(changeBetween("abcd", "abXd"), { start: 2, removed: "c", inserted: "X" });
  assert.deepEqual(changeBetween("aa", "aaa"), { start: 2, removed: "", inserted: "a" });
  assert.equal(changeBetween("a", "a"), undefined);
});

test("typing is one step, a gesture its own, and undo takes back each", () => {
  const history = new EditHistory();
  let text = "";
  const type = (letter, now) => {
    const change = { start: text.length, removed: "", inserted: letter };
    history.record([change], { joins: true, now });
    text = applyChange(text, change);
  };
  const replay = (step) => {
    for (const change of step.changes) text = applyChange(text, change);
  };
  type("a", 0);
  type("b", 100);
  type("c", 5000);
  const gesture = [{ start: 1, removed: "b", inserted: "B" }, { start: 0, removed: "a", inserted: "A" }];
  history.record(gesture, { note: { op: "connect" } });
  for (const change of gesture) text = applyChange(text, change);
  assert.equal(text, "ABc");
  replay(history.undo());
  assert.equal(text, "abc");
  replay(history.undo());
  assert.equal(text, "ab");
  replay(history.undo());
  assert.equal(text, "");
  assert.equal(history.undo(), undefined);
  replay(history.redo());
  replay(history.redo());
  replay(history.redo());
  assert.equal(text, "ABc");
  assert.equal(history.notes(), undefined, "typed steps have no note");
});

test("a history of gestures alone is a list of edits", () => {
  const history = new EditHistory();
  history.record([{ start: 0, removed: "", inserted: "a" }], { note: 1 });
  history.record([{ start: 0, removed: "", inserted: "b" }], { note: 2 });
  assert.deepEqual(history.notes(), [1, 2]);
  history.undo();
  assert.deepEqual(history.notes(), [1]);
});

test("a diff has every line of both texts, in order", () => {
  let seed = 7;
  const random = (most) => (seed = (seed * 48271) % 2147483647) % most;
  for (let round = 0; round < 200; round += 1) {
    const lines = () => Array.from({ length: random(12) }, () => "abc"[random(3)]).join("\n");
    const [before, after] = [lines(), lines()];
    const found = diffLines(before, after);
    assert.equal(found.filter((l) => l.op !== "added").map((l) => l.text).join("\n"), before);
    assert.equal(found.filter((l) => l.op !== "removed").map((l) => l.text).join("\n"), after);
  }
});

test("a changed word is one change, and a hunk has its neighbours", () => {
  assert.deepEqual(diffWords("be polite now", "be brief now").map((p) => `${p.op[0]}:${p.text}`), ["s:be ", "r:polite", "a:brief", "s: now"]);
  const text = Array.from({ length: 40 }, (_, n) => `line ${n}`);
  const changed = text.with(5, "line five").with(30, "line thirty");
  const found = hunks(text.join("\n"), changed.join("\n"));
  assert.deepEqual(found.map((hunk) => [hunk.before, hunk.lines.length]), [[3, 8], [28, 8]]);
  assert.equal(found[0].lines.find((line) => line.op === "added").words.at(-1).text, "five");
});

test("two texts of thousands of lines without a common one are compared in a moment", () => {
  const text = (letter) => Array.from({ length: 5000 }, (_, n) => letter + n).join("\n");
  const start = performance.now();
  assert.equal(diffLines(text("a"), text("b")).length, 10000);
  assert.ok(performance.now() - start < 3000);
});

test("a definition is written with short parts on one line, in its order, with its numbers", () => {
  const text = '{"name":"a","nodes":{"x":{"strategy":"predict","lm":{"temperature":0.0}}},"edges":[{"from":"a.b","to":"c.d"},{"from":"e.f","to":"g.h"}],"types":{"2":null,"1":null}}';
  assert.equal(format(text), [
    "{",
    '  "name": "a",',
    '  "nodes": {',
    '    "x": {"strategy": "predict", "lm": {"temperature": 0.0}}',
    "  },",
    '  "edges": [',
    '    {"from": "a.b", "to": "c.d"},',
    '    {"from": "e.f", "to": "g.h"}',
    "  ],",
    '  "types": {"2": null, "1": null}',
    "}",
  ].join("\n"));
  assert.equal(format("{broken"), "{broken");
  assert.equal(formatValue({ a: [1] }, "    "), '{"a": [1]}');
  assert.equal(formatWithout('{"id": 1, "name": "x"}', ["id"]), '{\n  "name": "x"\n}');
});
