// Forms that start a job, or store what does: what they would do and the request follow while fields change; a choice
// brings its own fields.

const WAIT = 350;

function summaryOf(details) {
  return details.querySelector("summary")?.textContent;
}

function summariesOf(part, selector) {
  return [...part.querySelectorAll(selector)].map(summaryOf);
}

class StartForm {
  constructor(form) {
    this.form = form;
    this.timer = 0;
    this.running = null;
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
    this.reshapes ||= Boolean(field.closest("[data-reshapes]"));
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.update(), WAIT);
  }

  async update() {
    const parts = this.reshapes ? ["shape", "result"] : ["result"];
    this.reshapes = false;
    this.running?.abort();
    this.running = new AbortController();
    const options = {
      method: "POST",
      body: new URLSearchParams(new FormData(this.form)),
      headers: { Accept: "text/html" },
      signal: this.running.signal,
    };
    try {
      const answer = await fetch(this.form.dataset.preview, options);
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const name of parts) this.replace(page, name);
    } catch (error) {
      if (error.name !== "AbortError") throw error;
    }
  }

  replace(page, name) {
    for (const old of this.form.querySelectorAll(`[data-part="${name}"]`)) {
      const fresh = page.getElementById(old.id);
      if (!fresh) continue;
      const opened = new Set(summariesOf(old, "details[open]"));
      const focused = old.contains(document.activeElement) ? document.activeElement.name : null;
      old.replaceChildren(...fresh.childNodes);
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
