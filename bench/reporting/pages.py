"""Writes figures into pages, between markers, and replaced figures into the history. Everything else on a page is by hand.

    <!-- figures: SECTION -->                 the table of a section, up to <!-- end -->
    <!-- scaling: examples -->                a table of the plan of scripts/scaling, up to <!-- end -->
    <!-- figure: SECTION / NAME / COLUMN -->  one value in a sentence, up to <!-- end -->
    <!-- coefficient: GROUP / NAME -->        one coefficient of scripts/scaling, up to <!-- end -->
"""

import json
import re

from reporting import figures, render, scaling

PAGES = ("README.md", "docs/performance.md", "docs/operations/sizing.md", "docs/scaling.md")
HISTORY = "docs/performance-history.md"
BLOCK = re.compile(r"(<!-- (figures|scaling): ([^\n]*?) -->\n).*?(\n<!-- end -->)", re.S)
INLINE = re.compile(r"(<!-- (figure|coefficient): ([^\n]*?) -->)[^\n]*?(<!-- end -->)")
HISTORY_ROWS = re.compile(r"(<!-- history -->\n)(.*?)(\n<!-- end -->)", re.S)


class Marker(Exception):
    """A marker that names what is not there."""


def block(kind, name, results, coefficients):
    if kind == "scaling":
        return scaling.TABLES[name](coefficients)
    if name not in results:
        return "Not measured yet: `python3 bench/report.py --server NEW --only %s`" % name
    return render.section(results[name])


def inline(kind, name, results, coefficients):
    parts = [part.strip() for part in name.split(" / ")]
    if kind == "coefficient":
        return "%g" % coefficients[parts[0]][parts[1]]["value"]
    section, figure, column = parts
    return render.value(figures.find(results, section, figure), column)


def rendered(text, results, coefficients):
    """The page with the values of these results."""

    def filled(write):
        def fill(match):
            begin, kind, name, end = match.groups()
            try:
                return begin + write(kind, name, results, coefficients) + end
            except (KeyError, ValueError) as error:
                raise Marker("the marker `%s: %s` names nothing: %s" % (kind, name, error)) from error

        return fill

    return INLINE.sub(filled(inline), BLOCK.sub(filled(block), text))


def with_history(text, replaced):
    """The history with rows for these figures; one that has a row gets no other. The newest are first."""
    begin, rows, end = HISTORY_ROWS.search(text).groups()
    heading, rows = rows.split("\n")[:2], rows.split("\n")[2:]
    new = [row for row in (render.history(*one) for one in replaced) if row not in rows]
    rows = sorted(new + rows, key=lambda row: row.split(" | ")[0], reverse=True)
    return HISTORY_ROWS.sub(lambda _: begin + "\n".join(heading + rows) + end, text)


def sections_of(text):
    return [match.group(3) for match in BLOCK.finditer(text) if match.group(2) == "figures"]


class Book:
    """The pages, the results and the coefficients under a root, as files."""

    def __init__(self, root=figures.ROOT):
        self.root = root
        self.results = figures.load(root / "bench/results.json")

    def read(self, path):
        return (self.root / path).read_text(encoding="utf-8")

    def write_if_changed(self, path, text):
        if self.read(path) != text:
            (self.root / path).write_text(text, encoding="utf-8")

    def write(self, measured=None):
        """Takes these sections over, {name: section}, and writes every file that follows from them."""
        replaced = []
        for name, section in (measured or {}).items():
            replaced += figures.replace(self.results, name, section)
        if measured:
            figures.save(self.results, self.root / "bench/results.json")
        text = scaling.updated(self.read(scaling.FILE), self.results)
        self.write_if_changed(scaling.FILE, text)
        coefficients = json.loads(text)
        for page in PAGES:
            self.write_if_changed(page, rendered(self.read(page), self.results, coefficients))
        if replaced:
            self.write_if_changed(HISTORY, with_history(self.read(HISTORY), replaced))
