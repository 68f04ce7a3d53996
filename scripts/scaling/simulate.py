#!/usr/bin/env python3
"""A discrete-event simulation of background runs: servers with a writer each, Postgres with its disk, and a model.

    python3 scripts/scaling/simulate.py --servers 3 --cores 2 --postgres-cores 4 --in-flight 256 --model-ms 200
    python3 scripts/scaling/simulate.py --check

A run is accepted, its nodes ask the model stage by stage, and it ends. What is stored goes to the writer of its server, which
commits what has gathered, one group after the other; a commit needs CPU of Postgres and a flush. `--check` compares with the
measured points of coefficients.json.
"""

import argparse
import heapq
import itertools
import json
import pathlib
import random
import statistics
import sys

from plan import coefficients

TOLERANCE = 0.15
STAGES = (1, 2, 1)


class Clock:
    """Events in the order of their times."""

    def __init__(self):
        self.now, self.queue, self.number = 0.0, [], itertools.count()

    def after(self, delay, action):
        heapq.heappush(self.queue, (self.now + delay, next(self.number), action))

    def run(self, is_over):
        while self.queue and not is_over():
            self.now, _, action = heapq.heappop(self.queue)
            action()


class Cores:
    """Cores that serve one request after the other."""

    def __init__(self, clock, count):
        self.clock, self.free, self.count, self.waiting, self.busy = clock, count, count, [], 0.0

    def use(self, milliseconds, then):
        self.waiting.append((milliseconds, then))
        self.next()

    def next(self):
        while self.free and self.waiting:
            milliseconds, then = self.waiting.pop(0)
            self.free -= 1
            self.busy += milliseconds
            self.clock.after(milliseconds, lambda then=then: self.done(then))

    def done(self, then):
        self.free += 1
        then()
        self.next()


class Writer:
    """Commits what has gathered. `grouped` is whether one commit has all of it."""

    def __init__(self, world):
        self.world, self.waiting, self.is_busy = world, [], False

    def store(self, milliseconds, then):
        self.waiting.append((milliseconds, then))
        if not self.is_busy:
            self.commit()

    def commit(self):
        if not self.waiting:
            self.is_busy = False
            return
        self.is_busy = True
        count = len(self.waiting) if self.world.grouped else 1
        group, self.waiting = self.waiting[:count], self.waiting[count:]
        work = sum(milliseconds for milliseconds, _ in group) + self.world.commit_ms
        self.world.postgres.use(work, lambda: self.flush(group))
        if not self.world.grouped:
            # Each has a connection of its own.
            self.commit()

    def flush(self, group):
        self.world.flushes += 1
        self.world.clock.after(self.world.flush_ms, lambda: self.committed(group))

    def committed(self, group):
        for _, then in group:
            then()
        if self.world.grouped:
            self.commit()


class World:
    """All parts, and a load that has so many runs in flight."""

    def __init__(self, servers, cores, postgres_cores, in_flight, runs, model_ms, server_ms, postgres_ms, flush_ms, driver_ms,
                 shared, grouped):
        self.clock, self.grouped, self.flush_ms, self.flushes = Clock(), grouped, flush_ms, 0
        self.random = random.Random(7)
        self.commit_ms = coefficients()["postgres"]["commit_ms"] if grouped else 0.0
        all_cores = Cores(self.clock, cores)
        self.postgres = all_cores if shared else Cores(self.clock, postgres_cores)
        self.servers = [(all_cores if shared else Cores(self.clock, cores), Writer(self)) for _ in range(servers)]
        self.driver = all_cores if shared else Cores(self.clock, 1_000)
        self.runs, self.started, self.model_ms, self.driver_ms = runs, 0, model_ms, driver_ms
        nodes = sum(STAGES)
        # Of a run: the request, each node, and the end.
        part = coefficients()["postgres"]["writer_part"] if grouped else 1.0
        self.server_step, self.row = server_ms / (nodes + 2), part * postgres_ms / (nodes + 2)
        self.beside = (1 - part) * postgres_ms / (nodes + 2)
        self.times = []
        for _ in range(in_flight):
            self.start()

    def start(self):
        if self.started >= self.runs:
            return
        self.started += 1
        server = self.servers[self.started % len(self.servers)]
        began = self.clock.now
        self.driver.use(self.driver_ms, lambda: self.step(server, lambda: self.stage(server, 0, began)))

    def step(self, server, then):
        cores, writer = server
        # Claims, leases and look-ups have connections of their own.
        self.postgres.use(self.beside, lambda: None)
        cores.use(self.server_step, lambda: writer.store(self.row, then))

    def stage(self, server, number, began):
        if number == len(STAGES):
            self.step(server, lambda: self.end(began))
            return
        left = [STAGES[number]]

        def done():
            left[0] -= 1
            if left[0] == 0:
                self.stage(server, number + 1, began)

        for _ in range(STAGES[number]):
            latency = self.random.uniform(0.5, 1.5) * self.model_ms
            self.clock.after(latency, lambda: self.step(server, done))

    def end(self, began):
        self.times.append(self.clock.now - began)
        self.start()

    def results(self):
        self.clock.run(lambda: len(self.times) >= self.runs)
        seconds = self.clock.now / 1000
        parts = {"postgres": self.postgres, "first server": self.servers[0][0]}
        quantiles = statistics.quantiles(self.times, n=100)
        return {
            "runs_per_second": round(self.runs / seconds, 1),
            "flushes_per_run": round(self.flushes / self.runs, 3),
            "p50_ms": round(quantiles[49], 1),
            "p99_ms": round(quantiles[98], 1),
            "busy": {name: round(part.busy / 1000 / seconds / part.count, 2) for name, part in parts.items()},
        }


def check():
    """Compares with what was measured. Flushes are not compared: how long one took is not known."""
    stored = json.loads((pathlib.Path(__file__).parent / "coefficients.json").read_text(encoding="utf-8"))
    driver_ms = stored["driver_ms"]["value"]
    worst = 0.0
    for point in stored["measured"]:
        grouped = point["flushes"] < 1
        commit = coefficients()["postgres"]["commit_ms"] * point["flushes"] if grouped else 0.0
        world = World(1, point["cores"], point["cores"], point["runs_in_flight"], 3000, 0.0, point["server_ms"],
                      point["postgres_ms"] - commit, 0.15, driver_ms, point["shared"], grouped)
        found = world.results()["runs_per_second"]
        error = found / point["runs_per_second"] - 1
        worst = max(worst, abs(error))
        print("%-45s measured %4d, simulated %4d runs/s (%+.0f %%)"
              % (point["name"], point["runs_per_second"], found, 100 * error))
    return worst <= TOLERANCE


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--servers", type=int, default=1)
    parser.add_argument("--cores", type=int, default=2, help="of each server")
    parser.add_argument("--postgres-cores", type=int, default=2)
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--runs", type=int, default=5000)
    parser.add_argument("--model-ms", type=float, default=0.0)
    parser.add_argument("--flush-ms", type=float, default=1.0)
    given = parser.parse_args()
    if given.check:
        sys.exit(0 if check() else "a simulated rate differs by more than %d %%" % (100 * TOLERANCE))
    known = coefficients()
    nodes = sum(STAGES)
    server_ms = known["server"]["background_base_ms"] + nodes * known["server"]["background_node_ms"]
    postgres_ms = known["postgres"]["background_base_ms"] + nodes * known["postgres"]["background_node_ms"]
    world = World(given.servers, given.cores, given.postgres_cores, given.in_flight, given.runs, given.model_ms, server_ms,
                  postgres_ms, given.flush_ms, 0.0, False, True)
    print(json.dumps(world.results(), indent=2))


if __name__ == "__main__":
    main()
