// Undo and redo of a text: every change, typed or made by a program, as what was removed and what was inserted. Knows
// no browser.

const MOST_ENTRIES = 500;
/** Typing within this time is one step. */
const PAUSE_MS = 900;

/** The one change that leads from a text to another: `{start, removed, inserted}`; nothing if they are equal. */
export function changeBetween(before, after) {
  if (before === after) return undefined;
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && before.charCodeAt(start) === after.charCodeAt(start)) start += 1;
  let behind = 0;
  while (
    behind < most - start &&
    before.charCodeAt(before.length - 1 - behind) === after.charCodeAt(after.length - 1 - behind)
  ) behind += 1;
  return {
    start,
    removed: before.slice(start, before.length - behind),
    inserted: after.slice(start, after.length - behind),
  };
}

export class EditHistory {
  constructor() {
    this.done = [];
    this.undone = [];
    this.lost = false;
  }

  /** Records changes that were applied in this order. `note` says what made them, such as a gesture. */
  record(changes, { selectionBefore, selectionAfter, note, now = Date.now(), joins = false } = {}) {
    if (changes.length === 0) return;
    this.undone = [];
    const entry = { changes, selectionBefore, selectionAfter, note, at: now, joins };
    const last = this.done.at(-1);
    if (last && joinable(last, entry)) {
      last.changes = [merged(last.changes[0], changes[0])];
      last.selectionAfter = selectionAfter;
      last.at = now;
      return;
    }
    this.done.push(entry);
    if (this.done.length > MOST_ENTRIES) {
      this.done.shift();
      this.lost = true;
    }
  }

  /** Later typing does not join the last step. */
  seal() {
    const last = this.done.at(-1);
    if (last) last.joins = false;
  }

  /** The changes that take back the last step, in the order to apply them: `{changes, selection}`. */
  undo() {
    const entry = this.done.pop();
    if (!entry) return undefined;
    this.undone.push(entry);
    const changes = entry.changes.toReversed();
    return {
      changes: changes.map(({ start, removed, inserted }) => ({ start, removed: inserted, inserted: removed })),
      selection: entry.selectionBefore,
      note: entry.note,
    };
  }

  /** The changes that repeat the step taken back last. */
  redo() {
    const entry = this.undone.pop();
    if (!entry) return undefined;
    this.done.push({ ...entry, joins: false });
    return { changes: entry.changes, selection: entry.selectionAfter, note: entry.note };
  }

  /** The notes of all steps, oldest first, if every step has one; otherwise nothing. */
  notes() {
    const notes = this.done.map((entry) => entry.note);
    return !this.lost && notes.every((note) => note !== undefined) ? notes : undefined;
  }

  /** Starts anew: what is in the text is stored. */
  clear() {
    this.done = [];
    this.undone = [];
    this.lost = false;
  }
}

function joinable(last, entry) {
  if (!last.joins || !entry.joins || last.note !== undefined || entry.note !== undefined) return false;
  if (last.changes.length !== 1 || entry.changes.length !== 1 || entry.at - last.at > PAUSE_MS) return false;
  const [before, now] = [last.changes[0], entry.changes[0]];
  const isTyping = !before.removed && !now.removed && before.start + before.inserted.length === now.start;
  const isErasing = !before.inserted && !now.inserted && now.start + now.removed.length === before.start;
  return (isTyping && !now.inserted.includes("\n")) || isErasing;
}

function merged(before, now) {
  if (!now.removed) return { ...before, inserted: before.inserted + now.inserted };
  return { start: now.start, removed: now.removed + before.removed, inserted: "" };
}

/** A text after a change. */
export function applyChange(text, { start, removed, inserted }) {
  return text.slice(0, start) + inserted + text.slice(start + removed.length);
}
