// A job that is followed while it runs: its events say that something changed, and the parts of the view are renewed.

const SHORTEST = 700;

class LiveJob {
  constructor(root) {
    this.url = root.dataset.follow;
    this.last = 0;
    this.timer = 0;
    this.log = document.querySelector("[data-log]");
    this.source = new EventSource(this.url);
    for (const name of root.dataset.events.split(" ")) {
      this.source.addEventListener(name, (event) => this.hear(name, event.data));
    }
  }

  hear(name, text) {
    const isEnd = /\.(completed|failed|cancelled)$/.test(name);
    this.write(name, text);
    if (isEnd) this.source.close();
    clearTimeout(this.timer);
    const wait = isEnd ? 0 : Math.max(0, SHORTEST - (Date.now() - this.last));
    this.timer = setTimeout(() => this.renew(isEnd), wait);
  }

  async renew(isEnd) {
    this.last = Date.now();
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const old of document.querySelectorAll("[data-live]")) {
      const fresh = page.getElementById(old.id);
      if (fresh && fresh.innerHTML !== old.innerHTML && !old.contains(document.activeElement)) {
        keepOpened(old, fresh);
        old.replaceChildren(...fresh.childNodes);
      }
    }
    if (isEnd) document.querySelectorAll("[data-while-running]").forEach((element) => element.remove());
  }

  // What the optimizer does, in words; progress within a phase replaces its last line.
  write(name, text) {
    const words = this.log && wordsOf(name, JSON.parse(text));
    if (!words) return;
    this.log.closest("[hidden]")?.removeAttribute("hidden");
    const line = document.createElement("li");
    line.dataset.kind = name;
    line.textContent = words;
    if (name.endsWith(".progress") && this.log.lastElementChild?.dataset.kind === name) this.log.lastElementChild.remove();
    this.log.append(line);
    while (this.log.childElementCount > 500) this.log.firstElementChild.remove();
    this.log.scrollTop = this.log.scrollHeight;
  }
}

// What a person opened or closed stays so.
function keepOpened(old, fresh) {
  for (const part of old.querySelectorAll("details[id]")) {
    const same = fresh.querySelector(`details#${CSS.escape(part.id)}`);
    if (same) same.open = part.open;
  }
}

function wordsOf(name, data) {
  switch (name.split(".")[1]) {
    case "started": return "started";
    case "phase": return data.phase;
    case "candidate": return `candidate ${data.number}${data.parents?.length ? ` from ${data.parents.join(", ")}` : ""}: ${data.origin}`;
    case "scored": return `candidate ${data.number} scored ${data.scored.score.toFixed(3)} on ${data.scored.n} examples${data.full ? "" : " (a part)"}${data.best === data.number ? ", the best so far" : ""}`;
    case "progress": return data.of === undefined ? null : `${data.done} of ${data.of} examples, ${data.usage?.lm_calls ?? 0} calls so far`;
    default: return data.status ?? name;
  }
}

document.querySelectorAll("[data-follow]").forEach((root) => new LiveJob(root));
