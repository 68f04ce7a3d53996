"""The bytes that the record of an execution takes, with questions and answers that differ; the same texts for every server."""

import threading

import load
import records
from reporting.figures import figure

# 0.3 of what JSON with lz4 took (07e03061), with these texts.
MOST_TABLE = {"one": 769, "chain": 1528, "diamond": 1531}
KINDS = {"runs": "table", "indexes": "indexes", "WAL": "WAL", "dump": "dump, compressed"}


def measure(tools):
    options = tools.having(case=load.CASES, first=400, pause=15, runs=200 if tools.quick else 2000, words=80)
    model = records.ModelServer(("127.0.0.1", 0), records.Model)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    address, found = "http://127.0.0.1:%d/v1" % model.server_port, {}
    try:
        for name, binary in tools.servers():
            with tools.folder() as scratch:
                found[name] = records.measure(binary, address, options, scratch)
    finally:
        model.shutdown()
    figures = []
    for case in load.CASES:
        for kind, shown in KINDS.items():
            most = MOST_TABLE[case] if kind == "runs" else None
            values = {name: [one[case][kind]] for name, one in found.items()}
            figures.append(figure("%s: %s" % (case, shown), "bytes", values, most=most))
    return figures
