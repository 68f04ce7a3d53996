// Makes elements. Texts become text nodes, never markup. Knows no view.

const SVG = "http://www.w3.org/2000/svg";

/** An element: properties and attributes by name, `on…` as listeners, then its children (elements or texts). */
export function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/** The same in SVG. */
export function svgElement(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.flat().filter((child) => child !== undefined && child !== null && child !== false));
  return made;
}

/** The same without another call of it for `ms`. `cancel` drops the waiting call. */
export function debounced(call, ms) {
  let timer;
  const later = (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...given), ms);
  };
  later.cancel = () => clearTimeout(timer);
  return later;
}

/** A text in which parts between back quotes are code. */
export function prose(text) {
  return text.split(/(`[^`]+`)/).map((part) => (part.length > 2 && part.startsWith("`") && part.endsWith("`") ? element("code", {}, part.slice(1, -1)) : part));
}
