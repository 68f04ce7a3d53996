// The main uses of the API with the types that openapi-typescript makes of the document, and openapi-fetch. tsc --strict
// reads it, and it runs against a server: DSRS_URL and DSRS_API_KEY.
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

const { DSRS_URL, DSRS_API_KEY } = process.env;
const client = createClient<paths>({ baseUrl: DSRS_URL ?? "", headers: { Authorization: `Bearer ${DSRS_API_KEY}` } });

function expect(condition: unknown, what: unknown): asserts condition {
  if (!condition) throw new Error(JSON.stringify(what));
}

async function postAGraph() {
  const node = { strategy: "predict", signature: "question -> answer" };
  const { data, error } = await client.POST("/v1/graphs", { body: { name: "ask-ts", nodes: { ask: node } } });
  expect(data?.version === 1, error);
}

async function executeIt() {
  const path = { graph: "ask-ts" };
  const header = { "X-Dsrs-Metadata": JSON.stringify({ channel: "mail", ticket: 7 }) };
  const { data, error } = await client.POST("/v1/graphs/{graph}/execute", { params: { path, header }, body: { inputs: { question: "Where is it?" } } });
  expect(data && "status" in data && typeof data.outputs?.["answer"] === "string", error);
  expect(data.metadata["channel"] === "mail" && data.metadata["ticket"] === 7, data.metadata);
  const runs = await client.GET("/v1/runs", { params: { query: { graph: "ask-ts", status: "succeeded" } } });
  const first: components["schemas"]["RunStatus"] | undefined = runs.data?.items[0]?.status;
  expect(first === "succeeded", runs.error);
}

async function readAProblem() {
  const { error } = await client.POST("/v1/graphs/{graph}/execute", { params: { path: { graph: "ask-ts" } }, body: { inputs: {} } });
  expect(error?.code === "invalid_input" && error.errors[0]?.pointer === "/inputs/question", error);
}

async function changeAnInstructionAndRollBack() {
  const path = { graph: "ask-ts", path: "ask" };
  const changed = await client.PATCH("/v1/graphs/{graph}/predictors/{path}", { params: { path }, body: { instruction: "Answer." } });
  expect(!changed.error, changed.error);
  const back = await client.POST("/v1/graphs/{graph}/state/versions/{version}/activate", { params: { path: { graph: "ask-ts", version: 1 } } });
  expect(back.data?.version === 1, back.error);
}

async function evaluateIt() {
  const examples = [{ inputs: { question: "q" }, expected: { answer: "a" } }];
  await client.POST("/v1/datasets", { body: { name: "questions-ts", examples } });
  const started = await client.POST("/v1/graphs/{graph}/evaluations", { params: { path: { graph: "ask-ts" } }, body: { dataset: "questions-ts", metric: "exact" } });
  expect(started.data, started.error);
  let status = started.data.status;
  while (status === "queued" || status === "running") {
    await new Promise((resolve) => setTimeout(resolve, 100));
    status = (await client.GET("/v1/evaluations/{id}", { params: { path: { id: started.data.id } } })).data?.status ?? "failed";
  }
  expect(status === "succeeded", status);
}

for (const use of [postAGraph, executeIt, readAProblem, changeAnInstructionAndRollBack, evaluateIt]) {
  await use();
  console.log("ok:", use.name);
}
