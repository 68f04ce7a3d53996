"""An evaluation of 1,000 examples, 64 at a time, with a model that takes 50 ms: its time beside that of the model alone."""

import importlib

import load
from reporting.figures import figure

LATENCY_MS = 50
MOST = 1.1


def measure(tools):
    script = importlib.import_module("evaluation")
    options = tools.having(examples=128 if tools.quick else 1000, concurrency=64, latency_ms=LATENCY_MS)
    with tools.folder() as scratch, tools.model(LATENCY_MS) as lm:
        servers = {}
        try:
            for name, binary in tools.servers():
                place = scratch / name
                place.mkdir()
                place.chmod(0o755)
                servers[name] = load.Server(binary, place / "data", lm, "ack")
                servers[name].ready()
                ideal = script.prepare(servers[name], options)
            once = {name: lambda server=server: script.measure(server, options) / ideal for name, server in servers.items()}
            found = tools.alternating(once)
        finally:
            for server in servers.values():
                load.stop(server.process)
    return [figure("time : the model alone", "×", found, most=MOST)]
