// Forms that start a job, or store what does: what they would do and the request follow while fields change; a choice
// brings its own fields.

const WAIT = 350;

function summaryOf(details) {
  return details.querySelector("summary")?.textContent;
}

function summariesOf(part, selector) {
  return [...part.querySelectorAll(selector)].map(summaryOf);
}

function isBox(field) {
  return field.type === "checkbox" || field.type === "radio";
}

function stateOf(field) {
  return isBox(field) ? field.checked : field.value;
}

// Sets a field of the fresh part to what a person entered into the old one.
function putBack(part, field) {
  const named = [...part.querySelectorAll(`[name="${CSS.escape(field.name)}"]`)];
  const fresh = named.find((other) => isBox(other) === isBox(field) && (!isBox(other) || other.value === field.value));
  if (!fresh) return;
  if (isBox(fresh)) fresh.checked = field.checked;
  else if (fresh.tagName !== "SELECT" || [...fresh.options].some((option) => option.value === field.value)) fresh.value = field.value;
}

class StartForm {
  constructor(form) {
    this.form = form;
    this.timer = 0;
    this.running = null;
    // How many choices were made that change which fields there are, since these were shown.
    this.reshapes = 0;
    form.querySelectorAll("[data-preview-button]").forEach((button) => { button.hidden = true; });
    form.addEventListener("input", (event) => { this.clearProblem(event.target); this.plan(event.target); });
    form.addEventListener("change", (event) => this.plan(event.target));
    form.addEventListener("submit", (event) => this.send(event));
    // A page that a browser shows again from its memory is not being sent.
    window.addEventListener("pageshow", () => this.setSent(false));
  }

  // The second of two clicks would replace the answer to the first one, which may be shown only once.
  send(event) {
    if (this.isSent) event.preventDefault();
    if (this.isSent || event.defaultPrevented) return;
    clearTimeout(this.timer);
    this.running?.abort();
    this.isSent = true;
    // A button that is disabled now would not be sent; another listener may yet prevent that it is.
    setTimeout(() => this.setSent(!event.defaultPrevented));
  }

  setSent(isSent) {
    this.isSent = isSent;
    this.form.querySelectorAll("button[type=submit]").forEach((button) => { button.disabled = isSent; });
  }

  // What a person types now is not what was refused.
  clearProblem(field) {
    field.removeAttribute("aria-invalid");
    for (const around of [field.closest("label"), field.closest("fieldset.choices")]) {
      around?.querySelectorAll(":scope > .field-problem, :scope > .refusal").forEach((problem) => problem.remove());
    }
  }

  plan(field) {
    if (this.isSent) this.setSent(false);
    // A choice changes which fields there are; a text only changes the forecast.
    if (field.closest("[data-reshapes]")) this.reshapes += 1;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.update(), WAIT);
  }

  async update() {
    const { reshapes } = this;
    const parts = reshapes ? ["shape", "result"] : ["result"];
    this.running?.abort();
    this.running = new AbortController();
    const sent = new Map([...this.form.elements].map((field) => [field, stateOf(field)]));
    const options = {
      method: "POST",
      body: new URLSearchParams(new FormData(this.form)),
      headers: { Accept: "text/html" },
      signal: this.running.signal,
    };
    try {
      const answer = await fetch(this.form.dataset.preview, options);
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (!answer.ok || options.signal.aborted) return;
      for (const name of parts) this.replace(page, name, sent);
      // A choice that was made since has its own request.
      if (this.reshapes === reshapes) this.reshapes = 0;
    } catch (error) {
      if (error.name !== "AbortError") throw error;
    }
  }

  // `sent` has the fields as they were sent: what was entered since stays.
  replace(page, name, sent) {
    for (const old of this.form.querySelectorAll(`[data-part="${name}"]`)) {
      const fresh = page.getElementById(old.id);
      if (!fresh) continue;
      const opened = new Set(summariesOf(old, "details[open]"));
      const focused = old.contains(document.activeElement) ? document.activeElement.name : null;
      const fields = [...old.querySelectorAll("input, select, textarea")];
      const changed = fields.filter((field) => field.name && sent.get(field) !== stateOf(field));
      old.replaceChildren(...fresh.childNodes);
      changed.forEach((field) => putBack(old, field));
      old.querySelectorAll("[data-preview-button]").forEach((button) => { button.hidden = true; });
      old.querySelectorAll("[data-script]").forEach((element) => { element.hidden = false; });
      old.querySelectorAll("details").forEach((part) => { if (opened.has(summaryOf(part))) part.open = true; });
      old.dispatchEvent(new Event("reshape", { bubbles: true }));
      if (focused) old.querySelector(`[name="${CSS.escape(focused)}"]`)?.focus();
    }
  }
}

// Without scripts this button shows the forecast; it must not start the job.
document.querySelectorAll("form[data-preview]").forEach((form) => new StartForm(form));
