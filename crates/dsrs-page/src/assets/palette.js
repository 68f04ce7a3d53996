// Results below the search field of the header while a person types; arrows choose, Enter opens.
import { fetchPart } from "./live_form.js";

const WAIT = 150;

function startPalette(form) {
  const input = form.querySelector("input[name=q]");
  const panel = document.createElement("div");
  panel.className = "palette";
  panel.id = "palette";
  panel.hidden = true;
  form.append(panel);
  input.setAttribute("role", "combobox");
  input.setAttribute("aria-controls", panel.id);
  input.setAttribute("aria-expanded", "false");
  let timer = 0;
  let running = null;
  let current = -1;

  const links = () => [...panel.querySelectorAll("a")];
  const close = () => { panel.hidden = true; current = -1; input.setAttribute("aria-expanded", "false"); input.removeAttribute("aria-activedescendant"); };
  const mark = (index) => {
    const all = links();
    if (!all.length) return;
    current = (index + all.length) % all.length;
    all.forEach((link, at) => { link.id = `hit-${at}`; link.toggleAttribute("data-current", at === current); });
    input.setAttribute("aria-activedescendant", `hit-${current}`);
    all[current].scrollIntoView({ block: "nearest" });
  };
  const update = async () => {
    running?.abort();
    const text = input.value.trim();
    if (!text) { close(); return; }
    running = new AbortController();
    try {
      const part = await fetchPart(`/search?q=${encodeURIComponent(text)}`, { signal: running.signal }, "#results");
      panel.replaceChildren(...part.childNodes);
      panel.hidden = false;
      current = -1;
      input.setAttribute("aria-expanded", "true");
    } catch (error) {
      if (error.name !== "AbortError") close();
    }
  };
  input.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(update, WAIT); });
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      mark(current + (event.key === "ArrowDown" ? 1 : current < 0 ? 0 : -1));
    } else if (event.key === "Enter" && current >= 0) {
      event.preventDefault();
      links()[current].click();
    } else if (event.key === "Escape") {
      close();
      input.blur();
    }
  });
  document.addEventListener("pointerdown", (event) => { if (!form.contains(event.target)) close(); });
}

document.querySelectorAll(".top form.search").forEach(startPalette);
