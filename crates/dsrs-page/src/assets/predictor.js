// The editor of a predictor: the prompt follows while its fields change, and the list of demos changes in place. The same
// requests as the buttons of the form.

const WAIT = 300;
const FOLLOWING = ["#prompt", "#outline", "#problems", "#requests"];

class PredictorEditor {
  constructor(form) {
    this.form = form;
    this.isChanged = false;
    form.addEventListener("input", () => {
      this.isChanged = true;
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.update("preview", FOLLOWING), WAIT);
    });
    form.addEventListener("submit", (event) => this.submit(event));
    addEventListener("beforeunload", (event) => { if (this.isChanged) event.preventDefault(); });
  }

  async submit(event) {
    const button = event.submitter;
    clearTimeout(this.timer);
    if (button?.formAction.endsWith("/save")) { this.isChanged = false; return; }
    event.preventDefault();
    const act = button?.value ?? "preview";
    if (act === "preview") { this.update(act, FOLLOWING); return; }
    this.isChanged = true;
    if (await this.update(act, [...FOLLOWING, "#demos"])) this.focus(act);
  }

  async update(act, selectors) {
    this.request?.abort();
    const request = (this.request = new AbortController());
    const fields = new URLSearchParams(new FormData(this.form));
    fields.set("act", act);
    const prompt = document.querySelector("#prompt");
    prompt.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(this.form.action, { method: "POST", body: fields, headers: { Accept: "text/html" }, signal: request.signal });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (!page.querySelector("#prompt")) throw new Error(page.querySelector("main")?.textContent ?? "no page");
      for (const selector of selectors) this.replace(selector, page);
      prompt.removeAttribute("aria-busy");
      return true;
    } catch (error) {
      if (error.name === "AbortError") return false;
      prompt.removeAttribute("aria-busy");
      prompt.textContent = "The server does not answer. Try again.";
      return false;
    }
  }

  replace(selector, page) {
    const target = document.querySelector(selector);
    const part = page.querySelector(selector);
    if (!target || !part) return;
    const open = [...target.querySelectorAll("details")].map((details) => details.open);
    target.replaceChildren(...part.childNodes);
    if (selector === "#requests") target.querySelectorAll("details").forEach((details, at) => { details.open = open[at] ?? details.open; });
    target.querySelectorAll("[data-script]").forEach((element) => { element.hidden = false; });
  }

  // The list of demos is new: the focus follows what was moved.
  focus(act) {
    const [step, at] = act.split(".");
    const demos = [...document.querySelectorAll("#demos .demo-form")];
    const to = { up: Number(at) - 1, down: Number(at) + 1 }[step];
    if (step === "add") demos.at(-1)?.querySelector("textarea, input:not([type=hidden]), select")?.focus();
    else if (to !== undefined) (demos[to]?.querySelector(`button[value="${step}.${to}"]:enabled`) ?? demos[to]?.querySelector("button:enabled"))?.focus();
    else document.querySelector("#demos button[value=add]")?.focus();
  }
}

const form = document.querySelector("form#predictor");
if (form) new PredictorEditor(form);
