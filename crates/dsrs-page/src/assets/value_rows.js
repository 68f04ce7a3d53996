// Lists in forms: a button adds a row, each row has one that removes it. Without this script there is one empty row.

function rename(within, from, to) {
  for (const part of within.querySelectorAll("[name], [data-rows], template")) {
    if (part.name?.startsWith(from)) part.name = to + part.name.slice(from.length);
    if (part.dataset.rows?.startsWith(from)) part.dataset.rows = to + part.dataset.rows.slice(from.length);
    if (part instanceof HTMLTemplateElement) rename(part.content, from, to);
  }
}

function rowsOf(list) {
  return [...list.querySelectorAll(":scope > .value-row")];
}

// The fields of a row are named by its number, so that a problem of the server finds its field.
function renumber(list) {
  const pointer = list.dataset.rows;
  rowsOf(list).forEach((row, number) => {
    const field = row.querySelector("[name], [data-rows]");
    const now = (field?.name ?? field?.dataset.rows ?? "").slice(pointer.length + 1).split("/")[0];
    if (now !== String(number)) rename(row, `${pointer}/${now}`, `${pointer}/${number}`);
  });
}

function start(list) {
  list.querySelector(":scope > .spare-row")?.remove();
  for (const button of list.querySelectorAll(":scope > .value-row > button, :scope > button")) button.hidden = false;
}

function add(list) {
  const made = list.querySelector(":scope > template").content.cloneNode(true);
  const pointer = list.dataset.rows;
  rename(made, `${pointer}/+`, `${pointer}/${rowsOf(list).length}`);
  const row = made.firstElementChild;
  list.querySelector(":scope > template").before(made);
  list.querySelectorAll(".value-rows").forEach(start);
  start(list);
  row.querySelector("input, textarea, select")?.focus();
}

function announce(list) {
  list.dispatchEvent(new Event("input", { bubbles: true }));
}

document.addEventListener("click", ({ target }) => {
  const button = target.closest?.("button[data-add-row], button[data-remove-row]");
  const list = button?.closest(".value-rows");
  if (!list) return;
  if (button.matches("[data-add-row]")) {
    add(list);
  } else {
    button.closest(".value-row").remove();
    renumber(list);
  }
  announce(list);
});

function startAll(within) {
  within.querySelectorAll(".value-rows").forEach(start);
}

startAll(document);
// A form may get other fields while it is filled in.
document.addEventListener("reshape", ({ target }) => startAll(target));
