// Runs a graph from its form: the answer streams into the picture and the list of nodes; Stop cancels the run.
import { eventsOf } from "./event_stream.js";
import { RunProgress } from "./run_progress.js";

const WAIT = 300;
const form = document.getElementById("run-form");
const stop = document.getElementById("stop");
const start = form.querySelector("button[type=submit]");
const outcome = document.getElementById("outcome");
let running = null;

function element(name, className, text) {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = text ?? "";
  return made;
}

async function requestOf() {
  const answer = await fetch(`${form.getAttribute("action")}/request`, { method: "POST", body: new URLSearchParams(new FormData(form)) });
  if (!answer.ok) throw new Error((await answer.json()).detail);
  return answer.json();
}

function clearRefusals() {
  form.querySelectorAll(".refusal").forEach((refusal) => refusal.remove());
}

// A problem is shown at the field that its pointer names, or at the closest around it.
function showRefusal(problem) {
  clearRefusals();
  const rest = [];
  for (const item of problem.errors ?? []) {
    let pointer = item.pointer;
    let field = null;
    while (pointer && !(field = form.elements.namedItem(pointer))) pointer = pointer.slice(0, pointer.lastIndexOf("/"));
    if (field) field.closest("label").append(element("span", "refusal", item.detail)); else rest.push(`${item.pointer}: ${item.detail}`);
  }
  const text = problem.errors?.length ? rest.join("; ") : problem.detail;
  if (text) form.prepend(element("p", "refusal", text));
  form.querySelector(".refusal")?.scrollIntoView({ block: "nearest" });
}

function runLink(id) {
  const link = element("a", "button", "The run");
  link.href = `/runs/${encodeURIComponent(id)}`;
  return link;
}

function showEnd(event, data, run) {
  const panel = element("section", "panel");
  panel.id = "answer";
  const header = document.createElement("header");
  const status = event.split(".")[1];
  header.append(element("h2", "", "Answer"), element("span", `badge ${{ completed: "good", failed: "bad", waiting: "warn" }[status] ?? ""}`, data.status ?? status));
  const id = data.id ?? data.run_id ?? run;
  if (id) header.append(runLink(id));
  const body = element("div", "body");
  if (data.detail) body.append(element("p", "refusal", `${data.node ? `${data.node}: ` : ""}${data.detail}`));
  if (data.raw) body.append(element("h3", "", "Answer of the model"), element("div", "marked text mono", data.raw));
  const values = element("dl", "values");
  for (const [name, value] of Object.entries(data.outputs ?? {})) {
    values.append(element("dt", "", name), element("dd", "text", typeof value === "string" ? value : JSON.stringify(value, null, 2)));
  }
  body.append(values);
  panel.append(header, body);
  outcome.replaceChildren(panel);
}

async function run() {
  running?.abort();
  running = new AbortController();
  clearRefusals();
  outcome.replaceChildren();
  let progress = null;
  start.disabled = true;
  stop.hidden = false;
  try {
    const { path, body } = await requestOf();
    const options = { method: "POST", body: JSON.stringify(body), signal: running.signal, headers: { "Content-Type": "application/json", Accept: "text/event-stream" } };
    const answer = await fetch(path, options);
    if (!answer.ok) { showRefusal(await answer.json()); return; }
    progress = new RunProgress(document.getElementById("progress"), document.getElementById("totals"));
    for await (const event of eventsOf(answer)) {
      if (progress.show(event)) showEnd(event.event, event.data, progress.run);
    }
  } catch (error) {
    if (error.name === "AbortError") showEnd("run.cancelled", { status: "cancelled", detail: "You stopped the run." }, progress?.run);
    else showRefusal({ detail: error.message });
  } finally {
    progress?.end();
    start.disabled = false;
    stop.hidden = true;
  }
}

let timer = 0;
async function renewSame() {
  try {
    const same = await requestOf();
    document.querySelector(".request-row pre[id^=curl-]").textContent = same.curl;
    document.querySelector(".request-row pre[id^=python-]").textContent = same.python;
  } catch { /* the next change tries again */ }
}

form.addEventListener("submit", (event) => { event.preventDefault(); run(); });
form.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(renewSame, WAIT); });
form.addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); run(); } });
stop.addEventListener("click", () => running?.abort());
