"""Instructions of an execution under callgrind: a count, so the load of the machine does not matter. Records are off."""

import shutil

import load
import sections
from reporting.figures import figure
from reporting.tools import FORWARDER, Skipped

MOST_PREDICT = 55_000


def counts(script, tools, options, lm):
    found = {}
    with tools.folder() as scratch:
        for name, binary in tools.servers():
            options.server = binary
            found[name] = script.server_counts(options, scratch / name, lm)
        found[FORWARDER] = script.forwarder_counts(options, scratch / FORWARDER, lm)
    return found


def measure(tools):
    script = sections.script("instructions")
    if not shutil.which("valgrind"):
        raise Skipped("valgrind is missing (Debian/Ubuntu: apt-get install valgrind)")
    options = tools.having(case=load.CASES, executions=30 if tools.quick else 300, profile=None, forwarder=tools.forwarder)
    with tools.model() as lm:
        found = counts(script, tools, options, lm)
    figures = []
    for case in load.CASES:
        values = {name: [one[case]] for name, one in found.items()}
        figures.append(figure("off, %s" % case, "instructions", values, most=MOST_PREDICT if case == "one" else None))
    return figures
