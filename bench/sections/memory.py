"""Resident memory of the server alone: idle, and at the peak of diamonds with records."""

import time

import load
from reporting.figures import figure

CASE, RECORD = "diamond", "ack"
MOST_IDLE_MB, MOST_WIDE_MB = 48, 64
# The allocator gives back what the start needed.
SETTLE_SECONDS = 15


def of_server(tools, binary, lm):
    """Idle, at 32 and at 256 at a time; a new process for each, because an allocator remembers its peak."""
    found = []
    with tools.folder() as scratch:
        for concurrency in (0, 32, 256):
            server = load.Server(binary, scratch / "data", lm, RECORD)
            try:
                server.ready()
                server.post_graphs()
                time.sleep(SETTLE_SECONDS)
                if concurrency:
                    load.forget_peak(server.pid)
                    load.wrk(server.url, CASE, concurrency, load.WARM_SECONDS + tools.seconds, scratch)
                found.append(load.memory_mb(server.pid, "VmHWM" if concurrency else "VmRSS"))
            finally:
                load.stop(server.process)
    return found


def measure(tools):
    with tools.model() as lm:
        once = {name: lambda binary=binary: of_server(tools, binary, lm) for name, binary in tools.servers()}
        found = tools.alternating(once, min(tools.rounds, 3))
    at = lambda number: {name: [one[number] for one in rounds] for name, rounds in found.items()}
    return [
        figure("idle, after the first runs", "MB", at(0), most=MOST_IDLE_MB),
        figure("peak, 32 diamonds at a time, ack", "MB", at(1)),
        figure("peak, 256 diamonds at a time, ack", "MB", at(2), most=MOST_WIDE_MB),
    ]
