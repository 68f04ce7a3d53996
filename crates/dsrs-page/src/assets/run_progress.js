// A run while it is written: the state of each node in the picture, and its texts below.

const short = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith("data-")) made.setAttribute(key, value); else made[key] = value;
  }
  made.append(...children);
  return made;
}

export class RunProgress {
  constructor(root, totals) {
    this.root = root;
    this.totals = totals;
    this.nodes = new Map();
    this.texts = new Map();
    this.spent = { calls: 0, input: 0, output: 0, cost: null };
    this.began = performance.now();
    this.characters = 0;
    root.replaceChildren();
    root.hidden = false;
    document.querySelectorAll("[data-node]").forEach((node) => node.setAttribute("data-state", "queued"));
    this.clock = setInterval(() => this.count(), 100);
  }

  /** Shows an event; true if it is the last. */
  show({ event, data }) {
    switch (event) {
      case "run.started": this.run = data.run_id; break;
      case "node.started": this.node(data.node, "running"); break;
      case "node.delta": this.write(data); break;
      case "node.retry": this.forget(data); break;
      case "node.completed": this.complete(data); break;
      case "node.failed": this.fail(data); break;
      case "gap": this.note("Some of the text is left out: the server no longer has it."); break;
      case "run.completed": case "run.failed": case "run.cancelled": case "run.waiting": return true;
    }
    return false;
  }

  node(name, state) {
    document.querySelector(`[data-node="${CSS.escape(name)}"]`)?.setAttribute("data-state", state);
    let shown = this.nodes.get(name);
    if (!shown) {
      const status = element("span", { className: "badge info" });
      const fields = element("div", { className: "streams" });
      const panel = element("section", { className: "panel node-progress" }, element("header", {}, element("h3", { textContent: name }), status), fields);
      shown = { status, fields, panel };
      this.nodes.set(name, shown);
      this.root.append(panel);
    }
    shown.status.textContent = state;
    shown.status.className = `badge ${{ running: "info", succeeded: "good", failed: "bad" }[state] ?? ""}`;
    return shown;
  }

  write({ node, predictor, span, field, text }) {
    const shown = this.node(node, "running");
    const key = `${span} ${field}`;
    let stream = this.texts.get(key);
    if (!stream) {
      const label = predictor && predictor !== node ? `${field} · ${predictor}` : field;
      stream = element("div", { className: "text mono" });
      shown.fields.append(element("div", { className: "stream", "data-span": String(span) }, element("p", { className: "hint", textContent: label }), stream));
      this.texts.set(key, stream);
    }
    stream.append(text);
    this.characters += text.length;
  }

  forget({ node, span, reason }) {
    const shown = this.node(node, "running");
    for (const key of [...this.texts.keys()].filter((key) => key.startsWith(`${span} `))) this.texts.delete(key);
    shown.fields.querySelectorAll(`[data-span="${span}"]`).forEach((stream) => stream.remove());
    shown.fields.append(element("p", { className: "hint", textContent: `asked again: ${reason}` }));
  }

  complete({ node, outputs, usage, duration_ms }) {
    const shown = this.node(node, "succeeded");
    shown.status.textContent = `${short.format(duration_ms)} ms`;
    this.add(usage);
    const values = element("dl", { className: "values" });
    for (const [name, value] of Object.entries(outputs ?? {})) {
      values.append(element("dt", { textContent: name }), element("dd", { className: "text", textContent: typeof value === "string" ? value : JSON.stringify(value, null, 1) }));
    }
    shown.fields.replaceChildren(values);
  }

  fail({ node, error }) {
    const shown = this.node(node, "failed");
    shown.fields.append(element("p", { className: "refusal", textContent: error.detail ?? error.code }));
  }

  add(usage) {
    if (!usage) return;
    this.spent.calls += usage.lm_calls ?? 0;
    this.spent.input += usage.input_tokens ?? 0;
    this.spent.output += usage.output_tokens ?? 0;
    if (usage.cost != null) this.spent.cost = (this.spent.cost ?? 0) + usage.cost;
    this.count();
  }

  count() {
    const seconds = ((performance.now() - this.began) / 1000).toFixed(1);
    const { calls, input, output, cost } = this.spent;
    const parts = [`${seconds} s`, `${calls} calls`, `${input} tokens in`, `${output} out`];
    if (cost != null) parts.push(`$${cost.toFixed(4)}`);
    if (this.characters) parts.push(`${this.characters} characters`);
    this.totals.textContent = parts.join(" · ");
  }

  note(text) { this.root.append(element("p", { className: "hint", textContent: text })); }

  end() { clearInterval(this.clock); this.count(); }
}
