// The members of a definition and what each is for: the part of the completion that does not depend on the server.
// Agrees with docs and the OpenAPI document. Knows no browser.

const member = (name, detail, documentation, insert) => ({ name, detail, documentation, insert });

export const ROOT = [
  member("name", "text", "The name of the graph: a-z, 0-9, `_` and `-`.", '""'),
  member("description", "text", "What the graph is for.", '""'),
  member("expose", "object", "How other clients reach the graph: `openai` as a chat model, `mcp` as a tool.", '{ "mcp": true }'),
  member("types", "types by name", "Classes, enums and JSON Schemas that types may name.", "{}"),
  member("inputs", "types by name", "The inputs of the graph. Left out, every unconnected input of a node becomes one.", "{}"),
  member("nodes", "nodes by name", "Each node is one strategy.", "{}"),
  member("edges", "list", "Which output feeds which input.", "[]"),
  member("outputs", "selections by name", "Left out, the outputs of nodes without outgoing edges.", "{}"),
];

export const EXPOSE = [
  member("openai", "true, false or object", "Whether the graph is a chat model of OpenAI's API. Left out, it is one if it fits.", "true"),
  member("mcp", "true, false or object", "Whether the graph is a tool of the MCP server. Left out, it is none.", "true"),
];

export const CHAT_MODEL = [
  member("model", "text", "The name of the model. Default: the name of the graph.", '""'),
  member("input", "input", "The input that gets the last message of the user, or the conversation.", '""'),
  member("output", "output", "The output that is the answer.", '""'),
];

export const TOOL = [
  member("name", "text", "The name of the tool. Default: the name of the graph.", '""'),
  member("description", "text", "What the tool is for, for models. Default: the description of the graph.", '""'),
];

export const NODE = [
  member("strategy", "name", "How the node finds its outputs.", '""'),
  member("signature", "signature", 'Inputs and outputs: `"question -> answer: int"`, or an object. Ops have none.', '""'),
  member("config", "object", "Settings of the strategy.", "{}"),
  member("lm", "object", "The model and its settings.", "{}"),
  member("timeout_ms", "whole number", "The time limit of the node with all retries. Default: 60000.", "60000"),
  member("retries", "whole number", "Repeats of an LM request after a transient failure. Default: 2.", "2"),
  member("parse_retries", "whole number", "Repeats of an LM call after an answer that cannot be read. Default: 1.", "1"),
];

export const LM = [
  member("model", "alias", "A model alias of the server.", '"default"'),
  member("temperature", "number", "Sampling temperature.", "0"),
  member("max_tokens", "whole number", "The most tokens of an answer.", "400"),
  member("top_p", "number", "Nucleus sampling.", "1"),
  member("seed", "whole number", "Sampling seed.", "0"),
  member("stop", "list of texts", "Texts that end the answer.", "[]"),
];

export const EDGE = [
  member("from", "selection", "`node.field`, or deeper; `input.field` for an input of the graph.", '""'),
  member("to", "node.field", "The input that it feeds.", '""'),
];

export const SIGNATURE = [
  member("instructions", "text", "What the model is to do.", '""'),
  member("inputs", "list of fields", "What the model reads.", "[]"),
  member("outputs", "list of fields", "What the model writes, in this order.", "[]"),
  member("input_schema", "JSON Schema", "The inputs as a JSON Schema, instead of `inputs`.", "{}"),
  member("output_schema", "JSON Schema", "The outputs as a JSON Schema, instead of `outputs`.", "{}"),
];

export const FIELD = [
  member("name", "text", "The name of the field.", '""'),
  member("type", "type", "The type of the field. Default: `str`.", '"str"'),
  member("description", "text", "What it is; part of the prompt.", '""'),
  member("alias", "text", "The name that the model reads and writes instead.", '""'),
  member("format", "json, yaml or text", "How the value is written in a prompt.", '"json"'),
  member("language", "text", "The language that the text is code of: prompts have it in a fence.", '"python"'),
  member("reasoning", "true or false", "Whether the model's own reasoning stands for an output that its answer leaves out.", "true"),
  member("default", "value", "The value if none is given.", "null"),
  member("constraints", "list", "Conditions on the value: `assert` fails it, `check` is recorded.", "[]"),
  member("strict", "true or false", "Whether the parser refuses every leniency.", "true"),
];

export const TYPE = [
  member("class", "fields by name", "A class: named fields with types.", "{}"),
  member("enum", "members by name", "An enum: each member with its description, or null.", "{}"),
  member("description", "text", "What it is; part of the prompt.", '""'),
];

export const CONSTRAINT = [
  member("assert", "expression", "A Jinja expression over `this`; a value that breaks it fails.", '""'),
  member("check", "expression", "A Jinja expression over `this`; only recorded.", '""'),
  member("label", "text", "Its name.", '""'),
];
