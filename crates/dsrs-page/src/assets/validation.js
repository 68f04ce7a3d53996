// Checks a definition while it is written: first that it is JSON, then by the route that clients use. Knows no view.

import { Problem, send } from "./api.js";
import { parse, rangeOf } from "./json_text.js";

const PAUSE_MS = 350;

/** Dispatches `checked` with `{problems, text, isJson, isValid, graph?}`, and `checking` when it begins. */
export class Validation extends EventTarget {
  constructor({ ask = askServer, pause = PAUSE_MS } = {}) {
    super();
    this.ask = ask;
    this.pause = pause;
    this.result = undefined;
  }

  /** Checks a text after a pause; an earlier request ends. */
  later(text) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.now(text), this.pause);
  }

  /** Checks a text now. Answers nothing if a later check replaced this one. */
  async now(text) {
    clearTimeout(this.timer);
    this.request?.abort();
    const tree = parse(text);
    if (tree.errors.length > 0) return this.report({ text, isJson: false, isValid: false, problems: tree.errors.map(syntaxProblem) });
    const request = (this.request = new AbortController());
    this.dispatchEvent(new CustomEvent("checking"));
    const result = await this.answer(text, tree, request.signal);
    return request.signal.aborted ? undefined : this.report(result);
  }

  async answer(text, tree, signal) {
    try {
      const graph = await this.ask(text, signal);
      return { text, isJson: true, isValid: true, problems: [], graph };
    } catch (error) {
      if (!(error instanceof Problem)) return { text, isJson: true, isValid: false, problems: [], failure: "The server does not answer." };
      return { text, isJson: true, isValid: false, problems: problemsOf(error, tree), failure: error.problems.length > 0 ? undefined : error.message };
    }
  }

  report(result) {
    this.result = result;
    this.dispatchEvent(new CustomEvent("checked", { detail: result }));
    return result;
  }
}

function syntaxProblem({ start, end, message }) {
  return { start, end, code: "invalid_json", detail: message, pointer: undefined };
}

/** The problems of a refusal, each with its place in the text. */
export function problemsOf(error, tree) {
  return error.problems.map(({ pointer, code, detail }) => ({ pointer, code, detail, ...rangeOf(tree, pointer ?? "") }));
}

async function askServer(text, signal) {
  const { value } = await send("POST", "/v1/graphs/validate", { body: text, signal });
  return value.graph;
}
