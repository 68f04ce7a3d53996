// A form whose result follows while its fields change: the same request as the button, shown in place.

const WAIT = 300;
// Longer addresses are refused by servers on the way.
const LONGEST_ADDRESS = 4000;

export async function fetchPart(url, options, selector) {
  const answer = await fetch(url, { ...options, headers: { Accept: "text/html", ...options.headers } });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  return page.querySelector(selector) ?? page.querySelector("main");
}

/** Makes a form live. Views that put a new form into the page call it. */
export function follow(form) {
  let timer = 0;
  let running = null;
  const update = async () => {
    running?.abort();
    running = new AbortController();
    const fields = new URLSearchParams(new FormData(form));
    const isRead = form.method === "get";
    const address = `${form.getAttribute("action")}?${fields}`;
    const options = { method: form.method, signal: running.signal, ...(isRead ? {} : { body: fields }) };
    const target = document.querySelector(form.dataset.live);
    target.setAttribute("aria-busy", "true");
    try {
      const part = await fetchPart(isRead ? address : form.action, options, form.dataset.live);
      target.replaceChildren(...part.childNodes);
      if (address.length < LONGEST_ADDRESS) history.replaceState(null, "", address);
      target.removeAttribute("aria-busy");
    } catch (error) {
      if (error.name === "AbortError") return;
      target.removeAttribute("aria-busy");
      target.textContent = "The server does not answer. Try again.";
    }
  };
  form.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(update, WAIT); });
  form.addEventListener("submit", (event) => { event.preventDefault(); clearTimeout(timer); update(); });
}

document.querySelectorAll("form[data-live]").forEach(follow);
