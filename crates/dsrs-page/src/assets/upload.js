// Uploads of datasets: a file is dropped or chosen, its columns get roles, and it is sent as a stream with progress.

const HEAD = 64 * 1024;
const TYPES = { csv: "text/csv", jsonl: "application/jsonl", ndjson: "application/jsonl", json: "application/json" };

function formatOf(file) {
  const extension = file.name.toLowerCase().split(".").pop();
  return extension in TYPES ? (extension === "ndjson" ? "jsonl" : extension) : null;
}

// The cells of the first row of a table (RFC 4180).
function headerOf(text) {
  const cells = [""];
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at];
    if (quoted) {
      if (sign !== '"') cells[cells.length - 1] += sign;
      else if (text[at + 1] === '"') { cells[cells.length - 1] += '"'; at += 1; } else quoted = false;
    } else if (sign === '"') quoted = true;
    else if (sign === ",") cells.push("");
    else if (sign === "\n" || sign === "\r") break;
    else cells[cells.length - 1] += sign;
  }
  return cells.map((cell) => cell.trim()).filter(Boolean);
}

// The members of a flat row; none if the row is an example.
function membersOf(row) {
  const isExample = !row || typeof row !== "object" || "inputs" in row;
  return isExample ? [] : Object.keys(row).filter((name) => name !== "id" && name !== "split");
}

async function columnsOf(file, format) {
  const head = (await file.slice(0, HEAD).text()).replace(/^\uFEFF/, "");
  if (format === "csv") return headerOf(head).filter((name) => name !== "id" && name !== "split");
  try {
    if (format === "jsonl") return membersOf(JSON.parse(head.split("\n").find((line) => line.trim())));
    if (file.size > HEAD) return [];
    const whole = JSON.parse(head);
    return membersOf(Array.isArray(whole) ? whole[0] : null);
  } catch {
    return [];
  }
}

// A list in a JSON file becomes the examples of a document, without reading it into memory.
async function jsonBody(file, options) {
  const start = (await file.slice(0, 64).text()).trimStart();
  if (!start.startsWith("[")) return file;
  const members = JSON.stringify(options).slice(0, -1);
  return new Blob([members, Object.keys(options).length ? "," : "", '"examples":', file, "}"], { type: TYPES.json });
}

function element(name, text) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  return made;
}

class Upload {
  constructor(form) {
    this.form = form;
    this.dataset = form.dataset.dataset ?? null;
    this.find = (selector) => form.querySelector(selector);
    this.input = this.find("input[type=file]");
    this.input.addEventListener("change", () => this.choose(this.input.files[0]));
    const drop = this.find(".drop");
    for (const name of ["dragover", "dragenter"]) {
      drop.addEventListener(name, (event) => { event.preventDefault(); drop.classList.add("over"); });
    }
    drop.addEventListener("dragleave", () => drop.classList.remove("over"));
    drop.addEventListener("drop", (event) => {
      event.preventDefault();
      drop.classList.remove("over");
      this.choose(event.dataTransfer.files[0]);
    });
    form.addEventListener("submit", (event) => { event.preventDefault(); this.send(); });
  }

  say(text, isBad = false) {
    const output = this.find("output");
    output.textContent = text;
    output.classList.toggle("bad", isBad);
  }

  async choose(file) {
    if (!file) return;
    this.file = file;
    this.format = formatOf(file);
    this.find(".chosen").textContent = `${file.name} · ${(file.size / 1000).toLocaleString(undefined, { maximumFractionDigits: 1 })} kB`;
    this.find(".problems").hidden = true;
    this.find("button").disabled = !this.format;
    if (!this.format) { this.say("The name of the file ends with none of .csv, .jsonl, .ndjson, .json", true); return; }
    this.say("");
    const name = this.find("input[name=name]");
    if (name && !name.value) name.value = suggested(file.name);
    this.showRoles(await columnsOf(file, this.format));
  }

  showRoles(columns) {
    const roles = columns.map((column, index) => {
      const label = element("label");
      const choice = element("select");
      choice.dataset.column = column;
      for (const [value, text] of [["input", "input"], ["expected", "expected"], ["none", "ignore"]]) {
        const option = element("option", text);
        option.value = value;
        choice.append(option);
      }
      choice.value = index === columns.length - 1 && columns.length > 1 ? "expected" : "input";
      label.append(element("span", column), choice);
      return label;
    });
    this.find(".roles").replaceChildren(...roles);
    this.find(".columns").hidden = columns.length === 0;
  }

  columns(role) {
    const choices = [...this.form.querySelectorAll("select[data-column]")];
    return choices.filter((choice) => choice.value === role).map((choice) => choice.dataset.column);
  }

  // The options beside the examples: members of a JSON document, parameters otherwise.
  options() {
    const name = this.find("input[name=name]")?.value;
    const inputs = this.columns("input");
    const options = name ? { name } : {};
    return inputs.length ? { ...options, inputs, expected: this.columns("expected") } : options;
  }

  async request() {
    const options = this.options();
    const path = this.dataset === null ? "/v1/datasets" : `/v1/datasets/${encodeURIComponent(this.dataset)}`;
    if (options.expected?.length === 0) delete options.expected;
    if (this.format === "json") return { path, body: await jsonBody(this.file, options) };
    const query = new URLSearchParams(Object.entries(options).map(([name, value]) => [name, String(value)]));
    return { path: `${path}?${query}`, body: this.file };
  }

  async send() {
    const { path, body } = await this.request();
    const sending = new XMLHttpRequest();
    const progress = this.find("progress");
    sending.open(this.dataset === null ? "POST" : "PUT", path);
    sending.setRequestHeader("Content-Type", TYPES[this.format]);
    sending.setRequestHeader("Accept", "application/json");
    sending.upload.addEventListener("progress", (event) => {
      progress.value = event.total ? event.loaded / event.total : 0;
      this.say(event.loaded < event.total ? `${Math.round(100 * progress.value)} % sent` : "The server checks the examples …");
    });
    sending.addEventListener("load", () => this.end(sending));
    sending.addEventListener("error", () => { this.busy(false); this.say("The server does not answer. Try again.", true); });
    this.busy(true);
    this.say("Sending …");
    sending.send(body);
  }

  busy(isBusy) {
    this.find("progress").hidden = !isBusy;
    this.find("button").disabled = isBusy;
  }

  end(sending) {
    this.busy(false);
    let answer = {};
    try { answer = JSON.parse(sending.responseText); } catch { /* an answer without a document */ }
    if (sending.status < 300) { location.assign(`/datasets/${encodeURIComponent(answer.name)}`); return; }
    const problems = answer.errors ?? [];
    const summary = problems.length > 1 ? `${problems.length} problems: nothing was stored.` : answer.detail;
    this.say(summary ?? `The server answered ${sending.status}.`, true);
    this.showProblems(problems);
  }

  showProblems(problems) {
    const list = this.find(".problems");
    list.hidden = problems.length === 0;
    list.replaceChildren(...problems.map((problem) => {
      const item = element("li");
      const row = /^\/examples\/(\d+)/.exec(problem.pointer);
      item.append(element("b", row ? `Row ${Number(row[1]) + 1}` : problem.pointer), " ", problem.detail, " ");
      if (row) item.append(element("code", problem.pointer));
      return item;
    }));
  }
}

function suggested(fileName) {
  const plain = fileName.toLowerCase().replace(/\.[^.]*$/, "").replace(/[^a-z0-9_-]+/g, "-").replace(/^[^a-z]+/, "");
  return plain.slice(0, 63).replace(/-+$/, "");
}

document.querySelectorAll("form[data-upload]").forEach((form) => new Upload(form));
