// The table of runs follows what happens: the first page is renewed while a person looks and has marked nothing.

const PERIOD = 3000;

async function renew(table) {
  const isBusy = document.hidden || table.contains(document.activeElement) || table.querySelector("input:checked") || getSelection()?.toString();
  if (isBusy) return;
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page.getElementById(table.id);
  if (fresh && fresh.innerHTML !== table.innerHTML) table.replaceChildren(...fresh.childNodes);
}

for (const table of document.querySelectorAll("[data-renew]")) {
  setInterval(() => renew(table).catch(() => {}), PERIOD);
}
