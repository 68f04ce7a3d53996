// What every view shares: the colour scheme switch, the keys of the search, copy buttons, times, confirmations.

const root = document.documentElement;

function storeScheme(name) {
  try { name ? localStorage.setItem("scheme", name) : localStorage.removeItem("scheme"); } catch { /* blocked */ }
}

function startSchemeSwitch(button) {
  const names = { "": "System", light: "Light", dark: "Dark" };
  const signs = { "": "◐", light: "☀", dark: "☾" };
  const show = () => {
    const now = root.dataset.scheme ?? "";
    button.textContent = signs[now];
    button.setAttribute("aria-label", `Colour scheme: ${names[now]}`);
    button.title = `Colour scheme: ${names[now]}`;
  };
  button.addEventListener("click", () => {
    const next = { "": "light", light: "dark", dark: "" }[root.dataset.scheme ?? ""];
    if (next) root.dataset.scheme = next; else delete root.dataset.scheme;
    storeScheme(next);
    show();
  });
  button.hidden = false;
  show();
}

function isTyping(target) {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

function startSearchKeys(input) {
  document.addEventListener("keydown", (event) => {
    const slash = event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey && !isTyping(event.target);
    const palette = event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey);
    if (!slash && !palette) return;
    event.preventDefault();
    input.focus();
    input.select();
  });
}

async function copy(button) {
  const source = document.getElementById(button.dataset.copy);
  const text = source ? ("value" in source ? source.value : source.textContent) : button.dataset.text ?? "";
  await navigator.clipboard.writeText(text);
  const label = button.textContent;
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = label; }, 1200);
}

// Times are rendered in UTC; a browser knows the zone of its user.
function localizeTimes(within) {
  for (const time of within.querySelectorAll("time[datetime]:not([title])")) {
    const moment = new Date(time.dateTime);
    if (!Number.isNaN(moment.getTime())) time.title = moment.toLocaleString();
  }
}

document.querySelectorAll("button.scheme").forEach(startSchemeSwitch);
document.querySelectorAll("form.search input[name=q]").forEach(startSearchKeys);
localizeTimes(document);

document.addEventListener("click", (event) => {
  const button = event.target.closest?.("button[data-copy], button[data-text]");
  if (button) copy(button).catch(() => { button.textContent = "Select and copy"; });
});

document.addEventListener("submit", (event) => {
  const question = event.submitter?.dataset.confirm ?? event.target.dataset.confirm;
  if (question && !window.confirm(question)) event.preventDefault();
});

// Scripts need buttons that plain HTML cannot serve.
document.querySelectorAll("[data-script]").forEach((element) => { element.hidden = false; });
