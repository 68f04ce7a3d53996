// What may be written at a position of a graph definition, with documentation. Reads the text, and what the server
// knows: `{strategies, models, graphs, ports, assignable}`. Knows no browser.

import { contextAt, find, parse, plain } from "./json_text.js";
import { BASIC_TYPES, readGraph } from "./graph_text.js";
import { CHAT_MODEL, CONSTRAINT, EDGE, EXPOSE, FIELD, LM, NODE, ROOT, SIGNATURE, TOOL, TYPE } from "./definition_words.js";

/**
 * The suggestions at a position: `{from, to, items, needsComma}`, where an item is `{label, insert, detail,
 * documentation, kind, caret?, note?}` and `note` says why it is not recommended. Nothing if there are none.
 */
export async function complete(text, at, server) {
  const tree = parse(text);
  const context = contextAt(tree, at);
  if (context.role === "none") return undefined;
  const place = { ...context, tree, server, graph: readGraph(tree), steps: context.path, at };
  const found = context.role === "key" ? keys(place) : await values(place);
  if (!found) return undefined;
  const { from = context.from, to = context.to, typed = context.typed } = found;
  const items = filtered(found.items, typed);
  // Between two parts there is a comma, which the part before a new one may lack.
  const before = text.slice(0, from).trimEnd().at(-1) ?? "{";
  const needsComma = from === context.from && !"{[,:".includes(before);
  return items.length > 0 ? { from, to, items, needsComma } : undefined;
}

/** Items that contain what is typed: those that begin with it first, others after them, otherwise in their order. */
export function filtered(items, typed) {
  const wanted = typed.trim().toLowerCase();
  if (!wanted) return items;
  const rank = (item) => {
    const label = item.label.toLowerCase();
    if (label.startsWith(wanted)) return item.note ? 2 : 0;
    if (label.includes(wanted)) return item.note ? 3 : 1;
    return -1;
  };
  return items.map((item) => ({ item, rank: rank(item) })).filter((found) => found.rank >= 0)
    .sort((a, b) => a.rank - b.rank).map((found) => found.item);
}

const matches = (steps, pattern) => pattern.length === steps.length && pattern.every((part, n) => part === "*" || part === steps[n]);

// Names of members -------------------------------------------------------------------------------------------------

function keys(place) {
  const { steps, server } = place;
  const listed = wordsAt(steps);
  if (listed) return { items: memberItems(listed, place) };
  if (steps[0] === "nodes" && steps[2] === "config") {
    const schema = schemaAt(place, steps.slice(0, 2), steps.slice(3));
    return schema && { items: memberItems(schemaWords(schema), place) };
  }
  if (matches(steps, ["inputs"])) return { items: memberItems(unfed(place), place) };
  if (matches(steps, ["outputs"])) return { items: memberItems(outputNames(place, server), place) };
  return undefined;
}

function wordsAt(steps) {
  if (steps.length === 0) return ROOT;
  const last = steps.at(-1);
  if (matches(steps, ["expose"])) return EXPOSE;
  if (matches(steps, ["expose", "openai"])) return CHAT_MODEL;
  if (matches(steps, ["expose", "mcp"])) return TOOL;
  if (matches(steps, ["nodes", "*"])) return NODE;
  if (matches(steps, ["nodes", "*", "lm"])) return LM;
  if (matches(steps, ["edges", "*"])) return EDGE;
  if (matches(steps, ["types", "*"])) return TYPE;
  if (last === "signature") return SIGNATURE;
  if (isConstraint(steps)) return CONSTRAINT;
  return isField(steps) ? FIELD.filter((word) => word.name !== "name" || steps.includes("signature")) : undefined;
}

function isField(steps) {
  if (matches(steps, ["inputs", "*"]) || matches(steps, ["types", "*", "class", "*"])) return true;
  const [list, index] = steps.slice(-2);
  return steps.at(-3) === "signature" && (list === "inputs" || list === "outputs") && /^\d+$/.test(index);
}

function isConstraint(steps) {
  return steps.at(-2) === "constraints" && isField(steps.slice(0, -2));
}

function memberItems(words, place) {
  const present = new Set(place.node.members.filter((member) => member !== place.member).map((member) => member.key.value));
  const hasValue = place.member?.colon !== undefined;
  return words.filter((word) => !present.has(word.name)).map((word) => {
    const name = JSON.stringify(word.name);
    const value = word.insert ?? '""';
    const insert = hasValue ? name : `${name}: ${value}`;
    const caret = hasValue ? insert.length : name.length + 2 + (/^(""|\{\}|\[\])$/.test(value) ? 1 : value.length);
    return { label: word.name, insert, caret, kind: "member", detail: word.detail, documentation: word.documentation };
  });
}

/** The JSON Schema of a place in the config of a strategy. */
function schemaAt(place, nodeSteps, configSteps) {
  const { server, tree } = place;
  let strategy = find(tree.root, [...nodeSteps, "strategy"])?.value;
  let schema = server.strategies.get(strategy)?.config_schema;
  let at = [...nodeSteps, "config"];
  let rest = configSteps;
  while (schema && rest.length > 0) {
    const [step, ...others] = rest;
    const inner = schema.properties?.[step] ?? (/^\d+$/.test(step) ? schema.items : undefined);
    // A wrapped strategy has its own config.
    const wrapped = step === "config" && schema.properties?.strategy;
    strategy = wrapped ? find(tree.root, [...at, "strategy"])?.value : undefined;
    schema = wrapped ? server.strategies.get(strategy)?.config_schema : inner;
    at = [...at, step];
    rest = others;
  }
  return schema;
}

function schemaWords(schema) {
  return Object.entries(schema.properties ?? {}).map(([name, inner]) => {
    const isRequired = schema.required?.includes(name);
    const detail = [typeWords(inner), isRequired ? "required" : defaultWords(inner)].filter(Boolean).join(", ");
    return { name, detail, documentation: schemaDocumentation(inner), insert: skeleton(inner) };
  });
}

function typeWords(schema) {
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  const range = [schema.minimum, schema.maximum];
  const words = [schema.type ?? []].flat().join(" or ") || "any value";
  return range.some((limit) => limit !== undefined) ? `${words} ${range[0] ?? ""}…${range[1] ?? ""}` : words;
}

function defaultWords(schema) {
  return schema.default === undefined ? "" : `default ${JSON.stringify(schema.default)}`;
}

function schemaDocumentation(schema) {
  const description = schema.description ?? "";
  return description && description[0].toUpperCase() + description.slice(1);
}

/** The value that stands in for one that is to be written: required members filled in. */
export function skeleton(schema) {
  if (schema.default !== undefined) return JSON.stringify(schema.default);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return JSON.stringify(schema.enum[0]);
  switch ([schema.type ?? "string"].flat()[0]) {
    case "integer":
    case "number":
      return String(schema.minimum ?? 0);
    case "boolean":
      return "true";
    case "array":
      return "[]";
    case "object":
      return `{${(schema.required ?? []).map((name) => `${JSON.stringify(name)}: ${skeleton(schema.properties?.[name] ?? {})}`).join(", ")}}`;
    default:
      return '""';
  }
}

function unfed({ server, graph }) {
  const fed = new Set(graph.edges.map((edge) => edge.to));
  const wanted = new Map();
  for (const [node, ports] of Object.entries(server.ports?.nodes ?? {})) {
    for (const { name, type } of ports.inputs) if (!fed.has(`${node}.${name}`) && !wanted.has(name)) wanted.set(name, { node, type });
  }
  for (const { from } of graph.edges) if (from?.startsWith("input.")) wanted.set(from.slice(6).split(/[.[]/)[0], { type: "str" });
  return [...wanted].map(([name, { node, type }]) => ({
    name, detail: type, documentation: node ? `The input \`${name}\` of \`${node}\` is not connected.` : "An edge names it.", insert: JSON.stringify(type ?? "str"),
  }));
}

function outputNames({ graph }, server) {
  return sources(server, graph).filter((source) => !source.label.startsWith("input.")).map((source) => ({
    name: source.label.split(".").at(-1), detail: source.type, documentation: `The output \`${source.label}\`.`, insert: JSON.stringify(source.label),
  })).filter((word, index, all) => all.findIndex((other) => other.name === word.name) === index);
}

// Values -----------------------------------------------------------------------------------------------------------

async function values(place) {
  const { steps, graph, server } = place;
  const last = steps.at(-1);
  if (matches(steps, ["edges", "*", "from"])) return { items: await rankedSources(place) };
  if (matches(steps, ["edges", "*", "to"])) return { items: await rankedTargets(place) };
  if (matches(steps, ["outputs", "*"])) return { items: sources(server, graph).map((port) => portItem(port)) };
  if (matches(steps, ["nodes", "*", "lm", "model"])) return { items: modelItems(server) };
  if (last === "strategy" && steps[0] === "nodes") return { items: strategyItems(place) };
  if (last === "graph" && steps[0] === "nodes" && steps.length > 3) return { items: graphItems(server) };
  if (last === "signature" && place.node?.kind === "string") return typeWithin(place, /:\s*(?:[^,:>]*[|[]\s*)?([A-Za-z_0-9]*)$/);
  if (isTypePlace(place)) return place.node?.kind === "string" ? typeWithin(place, /(?:^|[|[,\s])([A-Za-z_0-9]*)$/) : { items: typeItems(graph) };
  if (last === "format" && isField(steps.slice(0, -1))) return { items: choice(["json", "yaml", "text"]) };
  if (last === "strict" || last === "reasoning") return { items: choice([true, false]) };
  if (steps[0] === "nodes" && steps[2] === "config") {
    const schema = schemaAt(place, steps.slice(0, 2), steps.slice(3));
    return schema && { items: schemaValues(schema) };
  }
  return undefined;
}

function isTypePlace({ steps }) {
  if (matches(steps, ["inputs", "*"]) || matches(steps, ["types", "*", "class", "*"])) return true;
  if (steps.at(-1) !== "type") return false;
  return isField(steps.slice(0, -1)) || (steps[0] === "nodes" && steps[2] === "config");
}

function typeWithin(place, pattern) {
  const written = place.tree.text.slice(place.from, place.at).replace(/^"/, "");
  const match = pattern.exec(written);
  if (!match) return undefined;
  const items = typeItems(place.graph).filter((item) => !item.label.includes('"')).map((item) => ({ ...item, insert: item.label, caret: item.label.length }));
  return { items, from: place.at - match[1].length, to: place.at, typed: match[1] };
}

function typeItems(graph) {
  const own = graph.types.map((name) => {
    const definition = graph.typeDefinitions?.[name];
    const members = Object.keys(definition?.class ?? definition?.enum ?? {}).join(", ");
    return { label: name, detail: definition?.enum ? "enum" : "class", documentation: [definition?.description, members].filter(Boolean).join(": ") };
  });
  const basic = BASIC_TYPES.map(([label, documentation]) => ({ label, detail: "type", documentation }));
  return [...own, ...basic].map((item) => ({ ...item, insert: JSON.stringify(item.label), kind: "type" }));
}

function strategyItems({ server, steps }) {
  const isWrapped = steps.length > 3;
  return [...server.strategies.values()].filter((strategy) => !isWrapped || strategy.name !== "await").map((strategy) => ({
    label: strategy.name,
    insert: JSON.stringify(strategy.name),
    kind: strategy.calls_lm ? "strategy" : "op",
    detail: strategy.calls_lm ? "calls the model" : "computes",
    documentation: strategy.description,
  })).sort((a, b) => strategyRank(a.label, a.kind === "strategy") - strategyRank(b.label, b.kind === "strategy"));
}

/** Where most graphs begin; then what calls an LM; then what computes. */
const COMMON = ["predict", "chain_of_thought", "react"];

/** The place of a strategy among others. */
export function strategyRank(name, callsModel) {
  const common = COMMON.indexOf(name);
  if (common >= 0) return common;
  return COMMON.length + Number(!callsModel);
}

function modelItems(server) {
  return server.models.map((model) => ({
    label: model.name, insert: JSON.stringify(model.name), kind: "model", detail: model.model ?? "", documentation: model.default ? "The default model." : "",
  }));
}

function graphItems(server) {
  return server.graphs.map((graph) => ({
    label: graph.name, insert: JSON.stringify(graph.name), kind: "graph", detail: `version ${graph.version}`, documentation: graph.description ?? "",
  }));
}

function choice(values) {
  return values.map((value) => ({ label: String(value), insert: JSON.stringify(value), kind: "value", detail: "", documentation: "" }));
}

function schemaValues(schema) {
  if (schema.enum) return choice(schema.enum).map((item) => ({ ...item, documentation: schemaDocumentation(schema), detail: item.insert === JSON.stringify(schema.default) ? "default" : "" }));
  if (schema.type === "boolean") return choice([true, false]).map((item) => ({ ...item, documentation: schemaDocumentation(schema) }));
  const insert = skeleton(schema);
  const caret = /^(""|\{\}|\[\])$/.test(insert) ? 1 : insert.length;
  return [{ label: insert, insert, caret, kind: "value", detail: typeWords(schema), documentation: schemaDocumentation(schema) }];
}

// Ends of edges ----------------------------------------------------------------------------------------------------

/** Every output of the graph's nodes, and every input of the graph: `{label, type}`. */
export function sources(server, graph) {
  const ports = server.ports;
  const inputs = (ports?.inputs ?? graph.inputs).map(({ name, type }) => ({ label: `input.${name}`, type, node: "input" }));
  const outputs = graph.nodes.flatMap(({ name }) => (ports?.nodes[name]?.outputs ?? []).map((port) => ({ label: `${name}.${port.name}`, type: port.type, node: name })));
  return [...inputs, ...outputs];
}

/** Every input of the graph's nodes. */
export function targets(server, graph) {
  return graph.nodes.flatMap(({ name }) => (server.ports?.nodes[name]?.inputs ?? []).map((port) => ({ label: `${name}.${port.name}`, type: port.type, node: name })));
}

async function rankedSources(place) {
  const { graph, server } = place;
  const to = find(place.tree.root, [...place.steps.slice(0, -1), "to"])?.value;
  const target = targets(server, graph).find((port) => port.label === to);
  const all = sources(server, graph).filter((port) => port.node !== target?.node);
  return ranked(all, (port) => server.assignable(port.type, target?.type, graph.typeDefinitions), () => undefined);
}

async function rankedTargets(place) {
  const { graph, server } = place;
  const index = Number(place.steps[1]);
  const from = find(place.tree.root, [...place.steps.slice(0, -1), "from"])?.value;
  const source = sources(server, graph).find((port) => from === port.label);
  const fed = new Map(graph.edges.filter((edge) => edge.index !== index).map((edge) => [edge.to, edge.from]));
  const all = targets(server, graph).filter((port) => port.node !== source?.node);
  const taken = (port) => (fed.has(port.label) ? `\`${fed.get(port.label)}\` feeds it already` : undefined);
  return ranked(all, (port) => server.assignable(source?.type, port.type, graph.typeDefinitions), taken);
}

/** Ports that fit first, those whose fit is unknown next, those that do not fit with the reason last. */
async function ranked(ports, fits, taken) {
  const rated = await Promise.all(ports.map(async (port) => {
    const answer = await fits(port);
    const note = taken(port) ?? (answer && !answer.assignable ? answer.reason ?? "the type does not fit" : undefined);
    return { port, note, rank: note ? 2 : answer ? 0 : 1 };
  }));
  return rated.sort((a, b) => a.rank - b.rank).map(({ port, note }) => portItem(port, note));
}

function portItem(port, note) {
  return { label: port.label, insert: JSON.stringify(port.label), kind: "port", detail: port.type ?? "", documentation: note ? `Does not fit: ${note}.` : "", note };
}

/** What a strategy needs in a new node: its config with required members. */
export function newNode(strategy, hasSignature) {
  const node = { strategy: strategy.name };
  if (hasSignature) node.signature = "question -> answer";
  const config = JSON.parse(skeleton({ type: "object", ...strategy.config_schema }));
  const withStrategy = JSON.parse(JSON.stringify(config), (key, value) => (key === "strategy" && value === "" ? "predict" : value));
  if (Object.keys(config).length > 0) node.config = withStrategy;
  return node;
}

/** The definition of a text as JavaScript has it. */
export function definitionOf(text) {
  return plain(parse(text).root);
}
