// Whether a value of one type may be used as another: asks the server once for each pair of types. Knows no view.

import { send } from "./api.js";

/** A function `(from, to, types) => {assignable, reason?} | undefined`; nothing if a type is unknown. */
export function assignability(ask = askServer) {
  const known = new Map();
  return (from, to, types) => {
    if (!from || !to) return Promise.resolve(undefined);
    if (from === to && from !== "any") return Promise.resolve({ assignable: true });
    const key = JSON.stringify([from, to, named(types, `${from} ${to}`)]);
    if (!known.has(key)) {
      if (known.size > 5000) known.clear();
      known.set(key, ask(from, to, types).catch(() => {
        known.delete(key);
        return undefined;
      }));
    }
    return known.get(key);
  };
}

/** The definitions that matter: none if the types name none. */
function named(types, text) {
  const names = Object.keys(types ?? {});
  return names.some((name) => text.includes(name)) ? types : null;
}

async function askServer(from, to, types) {
  const body = { from, to };
  if (types && Object.keys(types).length > 0) body.types = types;
  const { value } = await send("POST", "/v1/types/assignable", { body });
  const place = value.path ? `at \`${value.path}\`: ` : "";
  return { assignable: value.assignable, reason: value.reason && place + value.reason };
}
