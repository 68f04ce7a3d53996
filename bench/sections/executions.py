"""CPU of an execution over HTTP, with a model that answers at once: server and Postgres, beside the forwarder and another build."""

import contextlib

import compare
import load
from reporting.figures import OURS, figure
from reporting.tools import BEFORE, FORWARDER

CONCURRENCY = 32
# `off` beside the forwarder: the target itself.
MOST_OFF = 1.4
# `ack`, server and Postgres, beside the forwarder: half of what the build before compact records needed.
MOST_ACK = {"one": 2.7, "chain": 2.1, "diamond": 1.6}
# Seconds of CPU for 1,000 executions are milliseconds for one.
MICROSECONDS = 1000


@contextlib.contextmanager
def programs(tools, record, lm, scratch):
    """{name: program} that runs; every server has a Postgres of its own."""
    running = {}
    try:
        for name, binary in tools.servers():
            place = scratch / name
            place.mkdir(exist_ok=True)
            place.chmod(0o755)
            running[name] = load.Server(binary, place / "data", lm, record)
            running[name].ready()
            running[name].post_graphs()
        running[FORWARDER] = load.Forwarder(tools.forwarder, lm)
        yield running
    finally:
        for program in running.values():
            load.stop(program.process)


def rounds_of(found, read):
    return {name: [read(one) * MICROSECONDS for one in rounds] for name, rounds in found.items()}


def figures_of(record, case, found):
    servers = {name: rounds for name, rounds in found.items() if name in (OURS, BEFORE)}
    own = lambda one: one["cpu"]
    both = lambda one: one["cpu"] + one["pg"]
    named = lambda what: "%s, %s: %s" % (record, case, what)
    if record == "off":
        return [figure(named("server"), "µs", rounds_of(found, own), most=MOST_OFF, of=FORWARDER)]
    return [
        figure(named("server"), "µs", rounds_of(servers, own)),
        figure(named("Postgres"), "µs", rounds_of(servers, lambda one: one["pg"])),
        figure(named("server and Postgres"), "µs", rounds_of(found, both), most=MOST_ACK[case], of=FORWARDER),
    ]


def measure(tools):
    options = tools.having(concurrency=CONCURRENCY, seconds=tools.seconds)
    figures = []
    with tools.folder() as scratch, tools.model() as lm:
        for record in load.RECORDS:
            with programs(tools, record, lm, scratch) as running:
                for case in load.CASES:
                    for program in running.values():
                        load.wrk(program.url, case, CONCURRENCY, load.WARM_SECONDS, scratch)
                    once = {name: lambda program=program: compare.measure(program, case, options, scratch)
                            for name, program in running.items()}
                    figures += figures_of(record, case, tools.alternating(once))
    return figures
