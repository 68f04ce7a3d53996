// Forms that start a job: the forecast and the request follow while fields change; a choice brings its own fields.

const WAIT = 350;

class StartForm {
  constructor(form) {
    this.form = form;
    this.timer = 0;
    this.running = null;
    form.querySelectorAll("[data-preview-button]").forEach((button) => { button.hidden = true; });
    form.addEventListener("input", (event) => this.plan(event.target));
    form.addEventListener("change", (event) => this.plan(event.target));
  }

  plan(field) {
    // A choice changes which fields there are; a text only changes the forecast.
    this.reshapes ||= field.matches("select[data-reshapes], select[name='/optimizer']");
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
      const focused = old.contains(document.activeElement) ? document.activeElement.name : null;
      old.replaceChildren(...fresh.childNodes);
      old.querySelectorAll("[data-preview-button]").forEach((button) => { button.hidden = true; });
      old.querySelectorAll("[data-script]").forEach((element) => { element.hidden = false; });
      if (focused) old.querySelector(`[name="${CSS.escape(focused)}"]`)?.focus();
    }
  }
}

// Without scripts this button shows the forecast; it must not start the job.
document.querySelectorAll("form[data-preview]").forEach((form) => new StartForm(form));
