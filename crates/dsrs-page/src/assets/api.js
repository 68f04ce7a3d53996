// Requests to the API and to routes of the page that answer JSON. Knows no view.

/** A refusal of the server: a problem document. */
export class Problem extends Error {
  constructor(status, document) {
    super(document.detail || document.title || `status ${status}`);
    this.status = status;
    this.code = document.code ?? "";
    this.problems = document.errors ?? [];
    this.document = document;
  }
}

/** Sends a request and reads its JSON: `{value, text, etag, status}`. `body` is JSON text or a value. Throws a `Problem`. */
export async function send(method, path, { body, headers = {}, signal } = {}) {
  const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
  const type = text === undefined ? {} : { "Content-Type": "application/json" };
  const response = await fetch(path, { method, body: text, signal, credentials: "same-origin", headers: { Accept: "application/json", ...type, ...headers } });
  const answer = await response.text();
  const value = parsed(answer);
  if (!response.ok) throw new Problem(response.status, value ?? {});
  return { value, text: answer, etag: response.headers.get("ETag"), status: response.status };
}

/** All items of a list of the API, page by page, up to `most`. */
export async function list(path, most = 500) {
  const items = [];
  let cursor = null;
  do {
    const more = cursor ? `&cursor=${encodeURIComponent(cursor)}` : "";
    const { value } = await send("GET", `${path}?limit=100${more}`);
    items.push(...value.items);
    cursor = value.next_cursor;
  } while (cursor && items.length < most);
  return items;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
