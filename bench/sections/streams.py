"""What a stream adds to a direct client of the model, and its CPU beside that of a whole execution; 32 at a time."""

import json
import os

import load
import sections
from reporting.figures import figure

STREAMS, PIECES, PAUSE_MICROSECONDS = 32, 20, 10_000
MOST_ADDED_MS, MOST_CPU = 0.15, 1.5
# (figure, member of a measurement)
ADDED = (("first field, added to a direct client", "first"), ("piece, added to a direct client", "piece"))


def start(tools, scratch, lm):
    servers = {}
    try:
        for name, binary in tools.servers():
            place = scratch / name
            place.mkdir()
            place.chmod(0o755)
            servers[name] = load.Server(binary, place / "data", lm, "ack")
            servers[name].ready()
            servers[name].post_graphs(("one",))
    except BaseException:
        stop(servers)
        raise
    return servers


def stop(servers):
    for server in servers.values():
        load.stop(server.process)


def measure(tools):
    script = sections.script("streams")
    binary = load.cargo_build(load.ROOT / "bench/streams/Cargo.toml", "streams", dict(os.environ))
    with tools.folder() as scratch:
        inputs, chat = scratch / "inputs.json", scratch / "chat.json"
        inputs.write_text(json.dumps({"inputs": load.INPUTS}))
        chat.write_text(json.dumps(script.CHAT, separators=(",", ":")))
        clients = script.Streams(binary, PIECES, PAUSE_MICROSECONDS)
        try:
            servers = start(tools, scratch, clients.lm)
            try:
                return figures_of(found(tools, script, clients, servers, inputs, chat))
            finally:
                stop(servers)
        finally:
            clients.stop()


def found(tools, script, clients, servers, inputs, chat):
    """{name: [a round]}; a round has the direct client, a whole and a streamed execution."""

    def once(server):
        direct = clients.run(clients.lm + "/chat/completions", chat, STREAMS, tools.seconds, "stream")
        whole, stream = (script.measured(clients, server, inputs, STREAMS, tools.seconds, kind) for kind in ("whole", "stream"))
        return dict(zip(("first", "piece"), direct[1:3])), whole, stream

    return tools.alternating({name: lambda server=server: once(server) for name, server in servers.items()})


def figures_of(found):
    figures = []
    for shown, member in ADDED:
        added = {name: [(stream[member] - direct[member]) / 1e3 for direct, _, stream in rounds] for name, rounds in found.items()}
        figures.append(figure(shown, "ms", added, most=MOST_ADDED_MS))
    cpu = lambda read: {name: [read(whole, stream) for _, whole, stream in rounds] for name, rounds in found.items()}
    figures += [
        figure("CPU of a streamed execution", "µs", cpu(lambda whole, stream: stream["cpu"])),
        figure("CPU of a streamed : a whole execution", "×", cpu(lambda whole, stream: stream["cpu"] / whole["cpu"]), most=MOST_CPU),
    ]
    counted = cpu(lambda whole, stream: stream["instructions"] / whole["instructions"])
    if all(value == value for values in counted.values() for value in values):  # NaN: perf may not count
        figures.append(figure("instructions of a streamed : a whole execution", "×", counted, most=MOST_CPU))
    return figures
