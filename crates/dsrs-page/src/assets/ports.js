// Where an output may lead: every input with whether its type fits, and why not. Knows no browser.

import { endOf } from "./graph_text.js";
import { sources, targets } from "./definition_completion.js";

/**
 * The targets of a source `{label, type}`: `[{label, type, reason?, edit}]`, those that fit first. `reason` says why a
 * target does not fit. Outputs of the graph are targets, too.
 */
export async function targetsOf(source, server, graph) {
  const fed = new Map(graph.edges.map((edge) => [edge.to, edge.from]));
  const from = source.label;
  const rated = await Promise.all(targets(server, graph).map(async (target) => {
    const reason = await misfit(source, target, fed, server, graph);
    return { ...target, reason, edit: { op: "connect", from, to: target.label } };
  }));
  const outputs = graph.outputs.map((output) => ({
    label: `@output.${output.name}`, type: source.type, reason: output.from === from ? "it comes from here already" : undefined,
    replaces: output.from, edit: { op: "set_output", name: output.name, from },
  }));
  const all = [...rated, ...outputs];
  return [...all.filter((target) => !target.reason), ...all.filter((target) => target.reason)];
}

/** The sources for an input `{label, type}`, those that fit first. */
export async function sourcesOf(target, server, graph) {
  const fed = new Map(graph.edges.map((edge) => [edge.to, edge.from]));
  const all = await Promise.all(sources(server, graph).map(async (source) => ({ ...source, reason: await misfit(source, target, fed, server, graph) })));
  return [...all.filter((source) => !source.reason), ...all.filter((source) => source.reason)];
}

async function misfit(source, target, fed, server, graph) {
  if (endOf(target.label)?.node === endOf(source.label)?.node) return "it is an input of the same node";
  if (fed.has(target.label)) return fed.get(target.label) === source.label ? "it is connected already" : `\`${fed.get(target.label)}\` feeds it already`;
  if (leadsTo(endOf(target.label).node, endOf(source.label)?.node, graph)) return "it would close a circle";
  const answer = await server.assignable(source.type, target.type, graph.typeDefinitions);
  return answer && !answer.assignable ? answer.reason ?? "its type does not fit" : undefined;
}

/** Whether edges lead from a node to another. */
export function leadsTo(start, end, graph) {
  const seen = new Set([start]);
  const open = [start];
  while (open.length > 0) {
    const node = open.pop();
    if (node === end) return true;
    for (const { from, to } of graph.edges) {
      const next = endOf(from)?.node === node ? endOf(to)?.node : undefined;
      if (next !== undefined && !seen.has(next)) {
        seen.add(next);
        open.push(next);
      }
    }
  }
  return false;
}
