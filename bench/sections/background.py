"""What a background run costs, one `predict` and a diamond, 64 in progress at a time. With --restate, with that engine, too."""

import importlib

import load
from reporting.figures import figure

# (figure, column of bench/background.py, unit)
COLUMNS = (("server", "server CPU ms", "ms"), ("Postgres", "Postgres CPU ms", "ms"), ("flushes", "flushes", ""),
           ("WAL", "WAL kB", "kB"), ("runs in a second", "runs/s", ""))
MOST = {"Postgres": 0.5, "flushes": 0.25}
RESTATE = "Restate"


def once(tools, binary, case, lm, engine=None):
    script = importlib.import_module("background")
    with tools.folder() as scratch:
        return script.measure(binary, case, 320 if tools.quick else 3200, lm, scratch, engine)


def measure(tools):
    figures = []
    with tools.model() as lm:
        for case in ("one", "diamond"):
            measures = {name: lambda binary=binary: once(tools, binary, case, lm) for name, binary in tools.servers()}
            if tools.options.restate:
                measures[RESTATE] = lambda: once(tools, tools.server, case, lm, tools.options.restate)
            found = tools.alternating(measures, min(tools.rounds, 3))
            for shown, column, unit in COLUMNS:
                values = {name: [one[column] for one in rounds] for name, rounds in found.items()}
                bound = MOST.get(shown) if case == "diamond" else None
                figures.append(figure("%s: %s" % (case, shown), unit, values, most=bound))
    return figures
