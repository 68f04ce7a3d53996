// A span that the address names is opened, with all spans around it.

function openSpan() {
  const span = /^#span-\d+$/.test(location.hash) && document.getElementById(location.hash.slice(1));
  if (!span) return;
  for (let part = span; part; part = part.parentElement?.closest("details.span")) part.open = true;
  span.scrollIntoView({ block: "center" });
}

addEventListener("hashchange", openSpan);
openSpan();
