"""Figures as Markdown: numbers, a table of a section, a row of the history. Knows no file."""

from datetime import date

from reporting.figures import OURS

HEADINGS = {OURS: "this build"}


def number(value):
    """Three significant digits, or whole from 100."""
    size = abs(value)
    if size >= 1e6:
        return "%.2f million" % (value / 1e6)
    if size >= 100 or value == int(value):
        return "{:,.0f}".format(value)
    return ("%.*f" % (1 if size >= 10 else 2 if size >= 1 else 3, value)).rstrip("0").rstrip(".")


def spread(values):
    """The median, with lowest and highest if there were several rounds."""
    if not values:
        return ""
    return number(values[0]) + (" (%s–%s)" % (number(values[1]), number(values[2])) if len(values) > 1 else "")


def ratio(values):
    return spread([shortened(value) for value in values]) if values else ""


def shortened(value):
    """A ratio: two decimals, or two digits of a small one."""
    return float(("%.2f" if value >= 0.1 else "%.2g") % value)


def target(found):
    """What the target is, and whether it is met."""
    bound = found.get("target")
    if not bound:
        return ""
    text = ("≤ %s" if "most" in bound else "≥ %s") % number(bound.get("most", bound.get("least")))
    if bound["of"] != OURS:
        text += " × " + bound["of"]
    return text + {True: ", met", False: ", **missed**", None: ""}[found["met"]]


def day(text):
    moment = date.fromisoformat(text)
    return "%d %s" % (moment.day, moment.strftime("%B %Y"))


def columns(figures):
    """The programs that any of the figures has, ours first."""
    named = []
    for found in figures:
        for program in (*found["values"], *found.get("ratios", {})):
            if program not in named:
                named.append(program)
    return sorted(named, key=lambda program: program != OURS)


def rows(figures):
    """Heading and rows; columns that nothing fills are left out."""
    programs = columns(figures)
    heading, cells = ["", "unit"], [[found["name"], found["unit"]] for found in figures]
    for program in programs:
        heading.append(HEADINGS.get(program, program))
        for line, found in zip(cells, figures):
            line.append(spread(found["values"].get(program)))
        if any(program in found.get("ratios", {}) for found in figures):
            heading.append("this build : " + program)
            for line, found in zip(cells, figures):
                line.append(ratio(found.get("ratios", {}).get(program)))
    heading.append("target")
    for line, found in zip(cells, figures):
        line.append(target(found))
    filled = [at for at in range(len(heading)) if at == 0 or any(line[at] for line in cells)]
    return [[line[at] for at in filled] for line in [heading, *cells]]


def table(figures):
    return grid(rows(figures))


def grid(lines):
    """A table in Markdown; the first line is the heading."""
    lines = [lines[0], ["---"] * len(lines[0]), *lines[1:]]
    return "\n".join("|" + "|".join(" %s " % cell if cell else " " for cell in line) + "|" for line in lines)


def caption(measured):
    """Where the figures of a section come from, and how to measure them again."""
    rounds = measured.get("rounds", 1)
    words = ["Commit %s, %s" % (measured["commit"], day(measured["date"]))]
    if measured.get("before"):
        words.append("before: %s" % measured["before"])
    words.append("medians of %d rounds" % rounds if rounds > 1 else "one round")
    if measured.get("beside"):
        words.append(measured["beside"])
    return "%s. Again: `%s`" % ("; ".join(words), measured["command"])


def section(measured):
    return table(measured["figures"]) + "\n\n" + caption(measured)


def value(found, column):
    """One value in a sentence: `ours` with its unit, `range` from lowest to highest, or `: before`, the ratio to that program."""
    if column == "range":
        return "%s to %s %s" % (number(found["values"][OURS][1]), number(found["values"][OURS][2]), found["unit"])
    if column.startswith(": "):
        return number(shortened(found["ratios"][column[2:]][0]))
    text = number(found["values"][column][0])
    return text if not found["unit"] or found["unit"] == "×" else text + " " + found["unit"]


def history(when, commit, section, found):
    """A row of the history."""
    words = []
    if OURS in found["values"]:
        words.append((spread(found["values"][OURS]) + " " + found["unit"]).strip())
    words += ["%s × %s" % (ratio(values), program) for program, values in found.get("ratios", {}).items()]
    words += ["%s %s %s" % (program, spread(values), found["unit"])
              for program, values in found["values"].items() if program != OURS and OURS not in found["values"]]
    return "| %s | %s | %s: %s | %s |" % (when, commit, section, found["name"], "; ".join(words))
