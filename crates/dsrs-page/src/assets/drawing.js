// The picture of a graph: lights up the path of a value, pans and zooms, selects nodes, opens nested graphs in place.

const LEAST = 0.15, MOST = 2.5, READABLE = 0.6;

/** The figure of an address, from the server: the same view with other nodes open. */
async function fetchFigure(href, graph) {
  const answer = await fetch(href, { headers: { Accept: "text/html" } });
  if (!answer.ok) throw new Error(`${answer.status}`);
  const parsed = new DOMParser().parseFromString(await answer.text(), "text/html");
  const all = [...parsed.querySelectorAll("figure.drawing")];
  return all.find((figure) => figure.dataset.graph === graph) ?? all[0];
}

/** Edges by their ports and nodes, to follow values through the picture. */
function readEdges(svg) {
  const into = new Map(), outOf = new Map(), byPort = new Map();
  const add = (map, key, edge) => map.has(key) ? map.get(key).push(edge) : map.set(key, [edge]);
  for (const element of svg.querySelectorAll(".edge")) {
    const { from, to } = element.dataset;
    const edge = { element, from, to, source: owner(from), target: owner(to) };
    add(into, edge.target, edge);
    add(outOf, edge.source, edge);
    add(byPort, from, edge);
    add(byPort, to, edge);
  }
  return { into, outOf, byPort };
}

/** The node of a port; an input or output of the graph is its own. */
function owner(port) {
  const at = port.lastIndexOf(".");
  const node = port.slice(0, at);
  return /(^|\/)(input|@output)$/.test(node) ? port : node;
}

/** Everything that leads to these edges, and everything that they lead to. */
function reach(edges, starts) {
  const found = new Set(starts);
  const walk = (start, next) => {
    const left = [...start];
    while (left.length) {
      for (const edge of next(left.pop()) ?? []) if (!found.has(edge)) { found.add(edge); left.push(edge); }
    }
  };
  walk(starts, (edge) => edges.into.get(edge.source));
  walk(starts, (edge) => edges.outOf.get(edge.target));
  return found;
}

/** Lights up the paths of these edges, or nothing. */
function light(svg, edges, starts) {
  svg.querySelectorAll(".lit, .near").forEach((element) => element.classList.remove("lit", "near"));
  svg.classList.toggle("lighting", starts.length > 0);
  if (!starts.length) return;
  const found = reach(edges, starts), names = new Set(), ports = new Set();
  for (const edge of found) {
    edge.element.classList.add("lit");
    for (const name of [edge.source, edge.target]) names.add(name);
    for (const port of [edge.from, edge.to]) ports.add(port);
  }
  starts.forEach((edge) => edge.element.classList.add("near"));
  svg.querySelectorAll("[data-node]").forEach((node) => node.classList.toggle("lit", names.has(node.dataset.node)));
  svg.querySelectorAll("[data-port]").forEach((port) => port.classList.toggle("lit", ports.has(port.dataset.port)));
  svg.querySelectorAll("[data-of]").forEach((type) => type.classList.toggle("lit", ports.has(type.dataset.of)));
}

function startLighting(svg) {
  let edges;
  const of = (element) => {
    edges ??= readEdges(svg);
    const port = element?.closest?.("[data-port]"), edge = element?.closest?.(".edge");
    if (port) return edges.byPort.get(port.dataset.port) ?? [];
    if (edge) return (edges.byPort.get(edge.dataset.from) ?? []).filter((found) => found.element === edge);
    return [];
  };
  let shown = null;
  svg.addEventListener("pointerover", (event) => {
    const over = event.target.closest?.("[data-port], .edge") ?? null;
    if (over === shown) return;
    shown = over;
    light(svg, edges ??= readEdges(svg), of(over));
  });
  svg.addEventListener("pointerleave", () => { shown = null; light(svg, edges ??= readEdges(svg), []); });
  svg.addEventListener("focusin", (event) => {
    if (!event.target.matches(":focus-visible") || event.target.closest(".toggle")) return;
    edges ??= readEdges(svg);
    const node = event.target.closest("[data-node]")?.dataset.node;
    light(svg, edges, [...edges.into.get(node) ?? [], ...edges.outOf.get(node) ?? []]);
  });
  svg.addEventListener("focusout", () => light(svg, edges ??= readEdges(svg), []));
}

/** Zooms by the size of the picture; the frame scrolls. */
class Zoom {
  constructor(frame, svg) {
    [this.frame, this.svg] = [frame, svg];
    const box = svg.viewBox.baseVal;
    [this.width, this.height, this.scale] = [box.width, box.height, 1];
  }
  set(scale, x = this.frame.clientWidth / 2, y = this.frame.clientHeight / 2) {
    const next = Math.min(MOST, Math.max(LEAST, scale)), frame = this.frame;
    const before = this.svg.getBoundingClientRect(), place = frame.getBoundingClientRect();
    const [left, top] = [(place.left + x - before.left) / this.scale, (place.top + y - before.top) / this.scale];
    this.scale = next;
    this.svg.setAttribute("width", this.width * next);
    this.svg.setAttribute("height", this.height * next);
    const after = this.svg.getBoundingClientRect();
    frame.scrollLeft += after.left + left * next - place.left - x;
    frame.scrollTop += after.top + top * next - place.top - y;
    frame.classList.toggle("draggable", frame.scrollWidth > frame.clientWidth || frame.scrollHeight > frame.clientHeight);
  }
  whole() {
    const room = Number.parseFloat(getComputedStyle(this.frame).maxHeight) || this.frame.clientHeight;
    return Math.min(this.frame.clientWidth / this.width, room / this.height, 1);
  }
  fit() { this.set(this.whole()); }
  /** As large as it fits, but readable. */
  begin() { this.set(Math.max(this.whole(), READABLE)); }
}

function startZoom(figure, frame, svg) {
  const zoom = new Zoom(frame, svg);
  zoom.begin();
  const step = { in: () => zoom.set(zoom.scale * 1.25), out: () => zoom.set(zoom.scale / 1.25), fit: () => zoom.fit() };
  const tools = figure.querySelector(".drawing-tools");
  tools.hidden = false;
  tools.addEventListener("click", (event) => step[event.target.closest("[data-zoom]")?.dataset.zoom]?.());
  frame.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const place = frame.getBoundingClientRect();
    zoom.set(zoom.scale * Math.exp(-event.deltaY / 300), event.clientX - place.left, event.clientY - place.top);
  }, { passive: false });
  frame.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const name = { "+": "in", "=": "in", "-": "out", "0": "fit" }[event.key];
    if (name) { event.preventDefault(); step[name](); }
  });
  return zoom;
}

function startPan(frame) {
  let from = null;
  frame.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || event.pointerType === "touch" || event.target.closest("a, button, [data-port]")) return;
    from = { x: event.clientX, y: event.clientY, left: frame.scrollLeft, top: frame.scrollTop };
    frame.setPointerCapture(event.pointerId);
    frame.classList.add("dragging");
  });
  frame.addEventListener("pointermove", (event) => {
    if (!from) return;
    frame.scrollLeft = from.left - (event.clientX - from.x);
    frame.scrollTop = from.top - (event.clientY - from.y);
  });
  const end = () => { from = null; frame.classList.remove("dragging"); };
  frame.addEventListener("pointerup", end);
  frame.addEventListener("pointercancel", end);
}

/** Marks a node as selected; `null` marks none. */
export function select(figure, path) {
  for (const node of figure.querySelectorAll("[data-node]")) {
    const is = node.dataset.node === path;
    node.classList.toggle("selected", is);
    const link = node.querySelector(":scope > .node-link");
    is ? link?.setAttribute("aria-current", "true") : link?.removeAttribute("aria-current");
  }
  // What opens or closes a node retains the selection.
  for (const toggle of figure.querySelectorAll("[data-toggle]")) {
    const [query] = toggle.getAttribute("href").split("#");
    const parameters = new URLSearchParams(query);
    path ? parameters.set("node", path) : parameters.delete("node");
    toggle.setAttribute("href", `?${parameters}`);
  }
}

/** Scrolls a node into the frame. */
export function reveal(figure, path) {
  const frame = figure.querySelector(".drawing-frame");
  const node = [...figure.querySelectorAll("[data-node]")].find((node) => node.dataset.node === path);
  if (!frame || !node) return;
  const [box, place] = [node.getBoundingClientRect(), frame.getBoundingClientRect()];
  if (box.left >= place.left && box.right <= place.right && box.top >= place.top && box.bottom <= place.bottom) return;
  frame.scrollLeft += box.left + box.width / 2 - place.left - place.width / 2;
  frame.scrollTop += box.top + box.height / 2 - place.top - place.height / 2;
}

/** A plain click or Enter; with a modifier the browser opens a tab. */
function isPlain(event) {
  return event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
}

function startLinks(figure, svg) {
  svg.addEventListener("click", async (event) => {
    const link = event.target.closest("a");
    if (!link || !isPlain(event)) return;
    const href = link.getAttribute("href");
    if (link.dataset.toggle !== undefined) {
      event.preventDefault();
      await replaceFigure(figure, href, link.dataset.toggle);
      return;
    }
    const node = link.closest("[data-node]").dataset.node;
    // The view takes the event, or the link is followed.
    const selected = new CustomEvent("node-select", { bubbles: true, cancelable: true, detail: { node, href } });
    if (!figure.dispatchEvent(selected)) {
      event.preventDefault();
      select(figure, node);
      history.replaceState(null, "", href);
    }
  });
}

async function replaceFigure(figure, href, path) {
  try {
    const next = await fetchFigure(href, figure.dataset.graph);
    const scroll = figure.querySelector(".drawing-frame");
    const [left, top] = [scroll.scrollLeft, scroll.scrollTop];
    figure.replaceWith(document.adoptNode(next));
    history.replaceState(null, "", href);
    start(next);
    const frame = next.querySelector(".drawing-frame");
    [frame.scrollLeft, frame.scrollTop] = [left, top];
    [...next.querySelectorAll("[data-toggle]")].find((link) => link.dataset.toggle === path)?.focus({ preventScroll: true });
    next.dispatchEvent(new CustomEvent("drawing-replaced", { bubbles: true }));
  } catch {
    location.assign(href);
  }
}

/** Adds behaviour to a picture. Views that put a new picture into the page call it. */
export function start(figure) {
  const frame = figure.querySelector(".drawing-frame"), svg = frame?.querySelector("svg");
  if (!svg || figure.dataset.started) return;
  figure.dataset.started = "true";
  startLighting(svg);
  startZoom(figure, frame, svg);
  startPan(frame);
  startLinks(figure, svg);
  const selected = svg.querySelector(".node.selected");
  if (selected) reveal(figure, selected.dataset.node);
}

document.querySelectorAll("figure.drawing").forEach(start);
