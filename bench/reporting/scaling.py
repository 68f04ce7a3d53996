"""The coefficients of scripts/scaling that follow from figures, and the tables of docs/scaling.md that follow from those.

Two graphs give a line: one `predict` is the base and a node, the diamond the base and four nodes. Coefficients that are not
named here are written by hand in scripts/scaling/coefficients.json, with their source.
"""

import re
import sys

from reporting import figures, render

FILE = "scripts/scaling/coefficients.json"
sys.path.append(str(figures.ROOT / "scripts/scaling"))
import plan as planner  # noqa: E402

NODES_MORE = 3
IDLE, WIDE = "idle, after the first runs", "peak, 256 diamonds at a time, ack"


def line(section, name, scale=1.0):
    """(base, node) of a figure that exists for both graphs; `%s` of its name is the graph."""

    def at(results, graph):
        return figures.find(results, section, name % graph)["values"][figures.OURS][0] * scale

    def found(results):
        one, diamond = at(results, "one"), at(results, "diamond")
        node = max(0.0, (diamond - one) / NODES_MORE)
        return max(0.0, one - node), node

    return found


def each_of_256(results):
    """Memory of one run more, from idle to 256 at a time."""
    idle, wide = (single("memory", name)(results)[0] for name in (IDLE, WIDE))
    return (max(0.0, (wide - idle) / 256),)


def single(section, name, scale=1.0):
    return lambda results: (figures.find(results, section, name)["values"][figures.OURS][0] * scale,)


# (group, the coefficients that follow, from what)
DERIVED = [
    ("server", ("execute_base_ms", "execute_node_ms"), line("executions", "ack, %s: server", 1e-3)),
    ("server", ("background_base_ms", "background_node_ms"), line("background", "%s: server")),
    ("server", ("memory_base_mb",), single("memory", IDLE)),
    ("server", ("memory_in_flight_mb",), each_of_256),
    ("postgres", ("execute_base_ms", "execute_node_ms"), line("executions", "ack, %s: Postgres", 1e-3)),
    ("postgres", ("background_base_ms", "background_node_ms"), line("background", "%s: Postgres")),
    ("postgres", ("flushes_background",), single("background", "diamond: flushes")),
    ("bytes", ("wal_execute_kb",), single("record-bytes", "one: WAL", 1e-3)),
    ("bytes", ("wal_background_base_kb", "wal_background_node_kb"), line("background", "%s: WAL")),
]


def derived(results):
    """{(group, coefficient): value}, two significant digits; without those whose figures were not measured yet."""
    found = {}
    for group, names, rule in DERIVED:
        try:
            values = rule(results)
        except KeyError:
            continue
        found.update({(group, name): float("%.2g" % value) for name, value in zip(names, values)})
    return found


def updated(text, results):
    """The text of the file with the values that follow; the rest is unchanged."""
    for (group, name), value in derived(results).items():
        entry = re.compile(r'("%s": \{[^{}]*(?:\{[^{}]*\}[^{}]*)*?"%s": \{"value": )[\d.]+' % (group, name))
        text, count = entry.subn(lambda match: match.group(1) + "%g" % value, text)
        if count != 1:
            raise KeyError("%s has no coefficient %s.%s" % (FILE, group, name))
    return text


def values(coefficients):
    """The form that the planner takes."""
    groups = {name: group for name, group in coefficients.items() if isinstance(group, dict) and "value" not in group}
    return {name: {key: entry["value"] for key, entry in group.items()} for name, group in groups.items()}


def disk(gigabytes):
    return "%.2g TB" % (gigabytes / 1000) if gigabytes >= 1000 else "%.2g GB" % gigabytes


def examples(coefficients):
    known = values(coefficients)
    plans = [planner.plan(10, 2000, 30, depth=4, known=known), planner.plan(500, 2000, 30, text_kb=10, known=known),
             planner.plan(5000, 2000, 30, known=known)]
    each = lambda write: [write(found) for found in plans]
    return render.grid([
        ["", "10 runs/s, 4 nodes, 2 s", "500 runs/s, depth 3, 10 kB of text", "5,000 runs/s, depth 3"],
        ["requests to models at once"] + each(lambda p: "{:,}".format(p["requests_to_models_at_once"])),
        ["cores of servers"] + each(lambda p: "%.2g" % p["server_cores"]),
        ["servers of two cores"] + each(lambda p: "%d" % p["servers_of_two_cores"]),
        ["cores of Postgres"] + each(lambda p: "%.2g" % p["postgres_cores"]),
        ["WAL"] + each(lambda p: "%.2g MB/s" % p["postgres_wal_mb_per_second"]),
        ["30 days of history"] + each(lambda p: disk(p["history_gb"])),
    ])


def full(coefficients):
    known = values(coefficients)
    cost = planner.costs("background", "postgres", 4, 0.0, known)
    limits = list(planner.plan(1, 1000, 1, known=known)["full_at_runs_per_second"].values())
    writer = 1000 / (cost["postgres_ms"] * known["postgres"]["writer_part"])
    tens = lambda value: "{:,.0f} diamonds a second".format(float("%.2g" % value))
    return render.grid([
        ["Part", "Full at", "Sign", "Way out"],
        ["the model", "its limit", "`queued_ms` in traces grows, servers idle", "a higher limit, another provider, fallbacks"],
        ["the writer of a server", tens(writer),
         "the time between the end of a node and the next grows; Postgres has idle cores", "one more server or worker"],
        ["processor of a server", tens(2000 / cost["server_ms"]) + " on two cores", "its CPU", "one more server or worker"],
        ["processor of Postgres", tens(limits[0]) + " with 16 cores", "its CPU above 70 %", "more cores"],
        ["WAL", tens(limits[1]) + " at 100 MB/s", "the disk of the log is busy", "a faster disk; smaller values"],
        ["history", "the size of the disk", "",
         "`retention.runs`; [partitions](operations/partitions.md) make its removal cheap"],
    ])


TABLES = {"examples": examples, "full": full}
