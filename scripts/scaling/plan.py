#!/usr/bin/env python3
"""What is needed for so many runs a second: cores, memory, disk, flushes, connections to models. docs/scaling.md explains it.

    python3 scripts/scaling/plan.py --runs-per-second 500 --model-ms 2000 --history-days 30
    python3 scripts/scaling/plan.py --runs-per-second 20 --kind execute --nodes 1 --text-kb 45 --json
"""

import argparse
import json
import math
import pathlib

KINDS = ("execute", "background", "batch")
ENGINES = ("postgres", "restate")
DAY = 86_400


def coefficients():
    """The values alone, by section and name."""
    stored = json.loads((pathlib.Path(__file__).parent / "coefficients.json").read_text(encoding="utf-8"))
    sections = {name: section for name, section in stored.items() if isinstance(section, dict) and "value" not in section}
    return {name: {key: entry["value"] for key, entry in section.items()} for name, section in sections.items()}


def costs(kind, engine, nodes, text_kb, known):
    """What one run costs: milliseconds of CPU, flushes, kilobytes."""
    server, postgres, size, restate = known["server"], known["postgres"], known["bytes"], known["engine"]
    text_ms = text_kb * postgres["text_ms_per_kb"]
    recorded = {
        "postgres_ms": postgres["execute_base_ms"] + nodes * postgres["execute_node_ms"] + text_ms,
        "flushes": postgres["flushes_execute"],
        "wal_kb": size["wal_execute_kb"] + text_kb * size["wal_per_text_byte"],
        "disk_kb": size["disk_run_kb"] + text_kb * size["disk_per_text_byte"],
        "engine_ms": 0.0,
    }
    if kind == "execute":
        return dict(recorded, server_ms=server["execute_base_ms"] + nodes * server["execute_node_ms"])
    # With Restate, the progress of batches stays in Postgres, too.
    if kind == "batch":
        return dict(recorded, postgres_ms=recorded["postgres_ms"] + postgres["item_ms"], wal_kb=2 * recorded["wal_kb"],
                    server_ms=server["item_ms"] + nodes * server["execute_node_ms"])
    server_ms = server["background_base_ms"] + nodes * server["background_node_ms"]
    if engine == "restate":
        # Checkpoints are in Restate; the row of the run, its start, its events and its end are in Postgres.
        return dict(recorded, server_ms=server_ms * restate["server_times"], flushes=postgres["flushes_background"],
                    postgres_ms=restate["postgres_base_ms"] + text_ms,
                    wal_kb=restate["wal_base_kb"] + text_kb * size["wal_per_text_byte"],
                    engine_ms=restate["base_ms"] + nodes * restate["node_ms"])
    return dict(
        recorded,
        server_ms=server_ms,
        postgres_ms=postgres["background_base_ms"] + nodes * postgres["background_node_ms"] + text_ms,
        flushes=postgres["flushes_background"],
        wal_kb=size["wal_background_base_kb"] + nodes * size["wal_background_node_kb"] + text_kb * size["wal_per_text_byte"],
    )


def plan(runs_per_second, model_ms, history_days, kind="background", engine="postgres", nodes=4, depth=3, text_kb=0.0,
         known=None):
    """The needs of a load. `depth` is the number of nodes on the longest path."""
    known = known or coefficients()
    cost = costs(kind, engine, nodes, text_kb, known)
    in_flight = runs_per_second * depth * model_ms / 1000
    server_cores = runs_per_second * cost["server_ms"] / 1000
    postgres_cores = runs_per_second * cost["postgres_ms"] / 1000 / known["postgres"]["cores_used"]
    # The writer of a server commits one group after the other: Postgres has one core at most for it.
    writer_ms = 0.0 if kind == "execute" else cost["postgres_ms"] * known["postgres"]["writer_part"]
    servers = max(1, math.ceil(server_cores / 1.5), math.ceil(runs_per_second * writer_ms / 1000))
    flushes = min(runs_per_second * cost["flushes"], servers * 1000 / known["disk"]["flush_ms"])
    wal_mb = runs_per_second * cost["wal_kb"] / 1000
    needs = {
        "requests_to_models_at_once": math.ceil(runs_per_second * nodes * model_ms / 1000),
        "runs_in_flight": math.ceil(in_flight),
        "server_cores": round(server_cores, 2),
        "servers_of_two_cores": servers,
        "server_memory_mb": math.ceil(known["server"]["memory_base_mb"] * servers
                                      + in_flight * known["server"]["memory_in_flight_mb"]),
        "postgres_cores": round(postgres_cores, 2),
        "postgres_flushes_per_second": round(flushes, 1),
        "postgres_wal_mb_per_second": round(wal_mb, 3),
        "history_gb": round(runs_per_second * DAY * history_days * cost["disk_kb"] / 1e6, 1),
        "engine_cores": round(runs_per_second * cost["engine_ms"] / 1000, 2),
        "engine_nodes": 0 if engine == "postgres" or kind == "execute"
        else max(3, math.ceil(in_flight / known["engine"]["runs_in_flight_per_node"])),
    }
    return dict(needs, **saturation(runs_per_second, cost, known, wal_mb))


def saturation(runs_per_second, cost, known, wal_mb, postgres_cores=16):
    """At how many runs a second each part that does not grow by machines is full, and which is the first."""
    limits = {
        "postgres CPU (%d cores)" % postgres_cores:
            postgres_cores * known["postgres"]["cores_used"] * 1000 / cost["postgres_ms"],
        "WAL (%d MB/s)" % known["disk"]["wal_mb_per_s"]: known["disk"]["wal_mb_per_s"] * 1000 / cost["wal_kb"],
    }
    first = min(limits, key=limits.get)
    return {"full_at_runs_per_second": {name: round(limit) for name, limit in limits.items()}, "first_full": first,
            "fits_one_postgres": runs_per_second <= limits[first]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs-per-second", type=float, required=True)
    parser.add_argument("--model-ms", type=float, default=1000, help="time of one request to the model")
    parser.add_argument("--history-days", type=float, default=30)
    parser.add_argument("--kind", choices=KINDS, default="background")
    parser.add_argument("--engine", choices=ENGINES, default="postgres")
    parser.add_argument("--nodes", type=int, default=4, help="nodes that ask a model")
    parser.add_argument("--depth", type=int, help="of those, on the longest path; all unless given")
    parser.add_argument("--text-kb", type=float, default=0.0, help="prompts and answers of a run")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if given.runs_per_second <= 0 or given.nodes < 1:
        parser.error("a load has runs and nodes")
    found = plan(given.runs_per_second, given.model_ms, given.history_days, given.kind, given.engine, given.nodes,
                 given.depth or given.nodes, given.text_kb)
    if given.json:
        print(json.dumps(found, indent=2))
        return
    for name, value in found.items():
        if isinstance(value, dict):
            value = ", ".join("%s %s" % (part, number) for part, number in value.items())
        print("%-30s %s" % (name.replace("_", " "), value))


if __name__ == "__main__":
    main()
