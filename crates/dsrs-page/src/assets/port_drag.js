// Dragging in the picture from an output to an input. Targets that do not fit are grey and say why. A drop is one edit.

import { sources } from "./definition_completion.js";
import { svgElement } from "./element.js";
import { shownEnd } from "./gestures.js";
import { targetsOf } from "./ports.js";

/** Movement below this is a click. */
const SLOP = 4;

/** Nearer than this to an edge of the frame, dragging scrolls. */
const EDGE = 36;

export class PortDrag {
  /** `host` as that of the gestures. */
  constructor(host) {
    this.host = host;
    host.picture.root.addEventListener("pointerdown", (event) => this.press(event), { capture: true });
  }

  press(event) {
    const port = event.target.closest?.("[data-port]");
    if (!port || event.button !== 0 || port.dataset.side !== "out") return;
    const { node } = event.target.closest("[data-node]")?.dataset ?? {};
    if (node?.includes("/")) return;
    const source = sources(this.host.server, this.host.graph()).find((found) => found.label === port.dataset.port);
    if (!source) return;
    event.stopPropagation();
    const drag = { source, port, start: [event.clientX, event.clientY], line: undefined, targets: new Map() };
    const move = (moved) => this.drag(drag, moved);
    const end = (ended) => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", end);
      removeEventListener("pointercancel", end);
      removeEventListener("keydown", cancel, { capture: true });
      this.drop(drag, ended);
    };
    const cancel = (pressed) => {
      if (pressed.key === "Escape") end(pressed);
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", end);
    addEventListener("pointercancel", end);
    addEventListener("keydown", cancel, { capture: true });
  }

  drag(drag, event) {
    const [x, y] = drag.start;
    if (!drag.line && Math.hypot(event.clientX - x, event.clientY - y) < SLOP) return;
    if (!drag.line) this.begin(drag);
    event.preventDefault();
    scrollAtEdge(this.host.picture.root, event);
    const svg = drag.line.ownerSVGElement;
    const point = (clientX, clientY) => new DOMPoint(clientX, clientY).matrixTransform(svg.getScreenCTM().inverse());
    const from = point(...anchor(drag.port));
    const to = point(event.clientX, event.clientY);
    const bend = Math.max(30, Math.abs(to.x - from.x) / 2);
    drag.line.setAttribute("d", `M${from.x} ${from.y}C${from.x + bend} ${from.y} ${to.x - bend} ${to.y} ${to.x} ${to.y}`);
    const over = this.over(event);
    const target = over && drag.targets.get(over.dataset.port);
    drag.over?.classList.remove("over");
    drag.over = over;
    over?.classList.add("over");
    if (target && target !== drag.said) this.host.announce(target.reason ? `${shownEnd(target.label)}: ${target.reason}` : `Connect ${drag.source.label} to ${shownEnd(target.label)}`);
    drag.said = target;
  }

  over(event) {
    const found = document.elementFromPoint(event.clientX, event.clientY)?.closest("[data-port]");
    return found && this.host.picture.root.contains(found) && found.dataset.side === "in" ? found : undefined;
  }

  /** Shows at once which targets fit; those that do not are grey and say why. */
  async begin(drag) {
    const { root } = this.host.picture;
    drag.line = svgElement("path", { class: "dragged", fill: "none" });
    root.querySelector("svg").append(drag.line);
    root.classList.add("dragging");
    document.body.classList.add("is-dragging");
    for (const target of await targetsOf(drag.source, this.host.server, this.host.graph())) {
      if (drag.isOver) return;
      drag.targets.set(target.label, target);
      const port = [...root.querySelectorAll('[data-side="in"]')].find((found) => found.dataset.port === target.label);
      if (port) markTarget(port, target);
    }
  }

  async drop(drag, event) {
    drag.isOver = true;
    const { root } = this.host.picture;
    root.classList.remove("dragging");
    document.body.classList.remove("is-dragging");
    drag.line?.remove();
    const over = event.type === "pointerup" && drag.line ? this.over(event) : undefined;
    for (const port of root.querySelectorAll(".fits, .unfit, .over")) unmarkTarget(port);
    if (!over) return;
    const targets = drag.targets.has(over.dataset.port) ? [...drag.targets.values()] : await targetsOf(drag.source, this.host.server, this.host.graph());
    const target = targets.find((found) => found.label === over.dataset.port);
    if (!target) return;
    if (target.reason) this.host.announce(`${shownEnd(target.label)} does not accept ${drag.source.label}: ${target.reason}.`, true);
    else this.host.apply(target.edit);
  }
}

/** Scrolls the frame while the pointer is near one of its edges. */
function scrollAtEdge(frame, { clientX, clientY }) {
  const box = frame.getBoundingClientRect();
  const by = (place, start, end) => (place < start + EDGE ? -EDGE / 2 : place > end - EDGE ? EDGE / 2 : 0);
  frame.scrollBy(by(clientX, box.left, box.right), by(clientY, box.top, box.bottom));
}

/** Where lines leave a port: the middle of its circle, or the right end of an input of the graph. */
function anchor(port) {
  const circle = port.querySelector("circle")?.getBoundingClientRect();
  const box = circle ?? port.querySelector("rect").getBoundingClientRect();
  return [circle ? box.left + box.width / 2 : box.right, box.top + box.height / 2];
}

function markTarget(port, target) {
  port.classList.add(target.reason ? "unfit" : "fits");
  const title = port.querySelector(":scope > title");
  if (title && target.reason) {
    port.dataset.title = title.textContent;
    title.textContent = `Does not fit: ${target.reason}`;
  }
}

function unmarkTarget(port) {
  port.classList.remove("fits", "unfit", "over");
  if (port.dataset.title === undefined) return;
  port.querySelector(":scope > title").textContent = port.dataset.title;
  delete port.dataset.title;
}
