"""CPU of reading runs, of the server and its Postgres: one by its id, lists, a search. Every server has executed the same inputs."""

import threading

import load
import records
import sections
from reporting.figures import figure


def measure(tools):
    script = sections.script("reading")
    options = tools.having(runs=300 if tools.quick else 3000, words=80, reads=100 if tools.quick else 2000)
    model = records.ModelServer(("127.0.0.1", 0), records.Model)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    address, filled, figures = "http://127.0.0.1:%d/v1" % model.server_port, {}, []
    with tools.folder() as scratch:
        try:
            for name, binary in tools.servers():
                filled[name] = script.Filled(name, binary, address, options, scratch)
            for kind in script.KINDS:
                once = {name: lambda one=one: sum(one.measure(kind, options.reads)) for name, one in filled.items()}
                figures.append(figure(kind, "ms of CPU", tools.alternating(once)))
        finally:
            for one in filled.values():
                load.stop(one.server.process)
            model.shutdown()
    return figures
