// A span that the address names is opened, with all spans around it. In a long run a span is loaded when it is opened.

function openSpan() {
  const span = /^#span-\d+$/.test(location.hash) && document.getElementById(location.hash.slice(1));
  if (!span) return;
  for (let part = span; part; part = part.parentElement?.closest("details.span")) part.open = true;
  span.scrollIntoView({ block: "center" });
}

// The content of a span comes from the view that its link opens.
async function load(span) {
  const link = span.querySelector(":scope > .inside > p > a[data-load]");
  if (!link || span.dataset.loading) return;
  span.dataset.loading = "true";
  try {
    const answer = await fetch(link.href, { headers: { Accept: "text/html" } });
    const view = answer.ok && new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = view && view.getElementById(span.id)?.querySelector(":scope > .inside");
    if (fresh) span.querySelector(":scope > .inside").replaceChildren(...fresh.childNodes);
  } finally {
    delete span.dataset.loading;
  }
}

document.getElementById("trace")?.addEventListener("toggle", ({ target }) => {
  if (target.matches("details.span") && target.open) load(target);
}, { capture: true });

addEventListener("hashchange", openSpan);
openSpan();
