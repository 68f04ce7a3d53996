"""Seconds from the start of the process until the server is ready: on an empty directory, and on one with a migrated database."""

import load
from reporting.figures import figure

MOST_FIRST, MOST_NEXT = 2.0, 0.15
NEXT_STARTS = 5


def starts(tools, binary, lm):
    """The first start, and the median of those after it."""
    with tools.folder() as scratch:
        data = scratch / "data"
        first = load.start_seconds(binary, data, lm)
        after = sorted(load.start_seconds(binary, data, lm) for _ in range(NEXT_STARTS))
    return first, after[NEXT_STARTS // 2]


def measure(tools):
    with tools.model() as lm:
        once = {name: lambda binary=binary: starts(tools, binary, lm) for name, binary in tools.servers()}
        found = tools.alternating(once)
    at = lambda number: {name: [one[number] for one in rounds] for name, rounds in found.items()}
    return [
        figure("on an empty directory: private Postgres, all migrations", "s", at(0), most=MOST_FIRST),
        figure("on a migrated database, its Postgres included", "s", at(1), most=MOST_NEXT),
    ]
