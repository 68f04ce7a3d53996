#!/usr/bin/env python3
"""The server beside hostile load: how long /healthz takes, and how much memory the process uses.

    python3 bench/hostile.py --server target/release/dsrs-server
    python3 bench/hostile.py --server target/debug/dsrs-server --seconds 10 --idle 1000 --slow 100

It starts the server with a private Postgres and a stand-in LM, and measures each of these beside a normal load of
executions: nothing; hostile bodies; idle connections; clients that write slowly; clients that read slowly. It prints a
Markdown table. Linux only. Idle connections need open files: `ulimit -n 25000` for this script and the server. Numbers
are only worth something on a machine that does nothing else, and with a release build.
"""

import argparse
import asyncio
import json
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

from load import ROOT, Server, call, fail, forget_peak, memory_mb, stop

# Longer than any step of a healthy server.
PATIENCE = 60
# The server closes a connection whose request has not arrived after this time.
LONGEST_IDLE = 75
NORMAL_CLIENTS = 4
HOSTILE_CLIENTS = 4
CONNECTS_AT_ONCE = 200
LARGE_EXAMPLES = 20000
HEAD = "| beside | /healthz: requests | p50 ms | p99 ms | longest ms | executions/s | failed | answers | peak RSS MB |"


def hostile_bodies():
    """(path, body): each is small enough for the limit of bodies and expensive if nothing bounds it."""
    asserted = lambda text: json.dumps(
        {"type": "A", "text": "1", "types": {"A": {"class": {"x": {"type": "int", "constraints": [{"assert": text}]}}}}})
    chain = {"T%d" % n: {"class": {"x": "T%d" % (n + 1)}} for n in range(900)}
    nested = {"d%d" % n: {"anyOf": [{"$ref": "#/$defs/d%d" % (n + 1)}, {"type": "array", "items": {"$ref": "#/$defs/d%d" % (n + 1)}}]}
              for n in range(40)}
    nested["d40"] = {"type": "string", "maxLength": 9}
    members = {"member number %05d" % n: None for n in range(15000)}
    misses = json.dumps(["membre numbre %05d" % n for n in range(15000)])
    return [
        ("/v1/parse", asserted("not " * 30000 + "this")),
        ("/v1/parse", asserted("this is matching('^(a|a(?=a))*(?!.)c')")),
        ("/v1/parse", "[" * 1000000),
        ("/v1/parse", '{"%s": {%s}}' % ("k" * 30000, ",".join(['"a":1'] * 5000))),
        ("/v1/parse", json.dumps({"type": "list[M]", "types": {"M": {"enum": members}}, "text": misses})),
        ("/v1/parse", json.dumps({"type": {"$defs": nested, "$ref": "#/$defs/d0"}, "text": "a"})),
        ("/v1/parse", json.dumps({"type": "A", "text": "1", "types": {"A": {"class": {"f%d" % n: "int" for n in range(8000)}}}})),
        ("/v1/strategies/predict/preview", json.dumps({"signature": "a: T0 -> b", "types": {**chain, "T900": {"class": {"x": "int"}}}})),
        ("/v1/strategies/render/preview", json.dumps({"signature": "a -> b", "config": {"template": "{{ " + "-" * 19000 + "a }}"}})),
        ("/v1/graphs/validate", json.dumps({"name": "a", "nodes": {"n%d" % n: {"strategy": "predict"} for n in range(5001)}})),
    ]


async def read_head(reader):
    head = await reader.readuntil(b"\r\n\r\n")
    status = int(head.split(b" ", 2)[1])
    length = next((int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), None)
    return status, length


def request_text(method, path, body=b"", length=None):
    head = "%s %s HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % (
        method, path, len(body) if length is None else length)
    return head.encode() + body


class Client:
    """One connection, opened again when the server closes it."""

    def __init__(self, port):
        self.port, self.reader, self.writer = port, None, None

    async def send(self, method, path, body=b""):
        """(status, seconds) of one request."""
        began = time.monotonic()
        try:
            if self.writer is None:
                self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
            self.writer.write(request_text(method, path, body))
            status, length = await asyncio.wait_for(read_head(self.reader), PATIENCE)
            await asyncio.wait_for(self.reader.readexactly(length or 0), PATIENCE)
        except (OSError, asyncio.TimeoutError, asyncio.IncompleteReadError):
            self.close()
            status = 0
        return status, time.monotonic() - began

    def close(self):
        if self.writer:
            self.writer.close()
        self.reader = self.writer = None


class Figures:
    """What was counted while a load lasted."""

    def __init__(self):
        self.health, self.executed, self.failed, self.answers = [], 0, 0, {}

    def count(self, status):
        self.answers[status] = self.answers.get(status, 0) + 1

    def health_ms(self, share):
        """The time of a health check that this share of them did not exceed."""
        ordered = sorted(taken * 1000 for taken in self.health)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))]

    def row(self, name, seconds, peak):
        answers = ", ".join("%s: %d" % (status or "none", count) for status, count in sorted(self.answers.items()))
        return "| %s | %d | %.1f | %.1f | %.1f | %.0f | %d | %s | %.0f |" % (
            name, len(self.health), self.health_ms(0.5), self.health_ms(0.99), self.health_ms(1), self.executed / seconds,
            self.failed, answers or "-", peak)


async def watch_health(port, figures, until):
    client = Client(port)
    while time.monotonic() < until:
        status, taken = await client.send("GET", "/healthz")
        figures.health.append(taken)
        figures.failed += status != 200
        await asyncio.sleep(0.02)
    client.close()


async def execute(port, figures, until):
    client, body = Client(port), b'{"inputs": {"question": "Which tea is best?"}}'
    while time.monotonic() < until:
        status, _ = await client.send("POST", "/v1/graphs/bench-one/execute", body)
        figures.executed += status == 200
        figures.failed += status != 200
    client.close()


async def attack(port, figures, until, first):
    client, bodies, turn = Client(port), [(path, body.encode()) for path, body in hostile_bodies()], first
    while time.monotonic() < until:
        path, body = bodies[turn % len(bodies)]
        status, _ = await client.send("POST", path, body)
        figures.count(status)
        turn += 1
    client.close()


async def open_many(port, count, figures, first_bytes):
    """Opens connections and sends the beginning of a request on each."""
    opened, gate = [], asyncio.Semaphore(CONNECTS_AT_ONCE)

    async def one():
        async with gate:
            try:
                # A small buffer: what the client does not read stays with the server.
                reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
                writer.write(first_bytes)
                opened.append((reader, writer))
            except OSError:
                figures.count(0)

    await asyncio.gather(*(one() for _ in range(count)))
    figures.answers["open"] = len(opened)
    return opened


async def write_slowly(opened, until):
    while time.monotonic() < until:
        for _, writer in opened:
            writer.write(b" ")
        await asyncio.sleep(1)


async def read_slowly(opened, until):
    while time.monotonic() < until:
        for reader, _ in opened:
            try:
                await asyncio.wait_for(reader.read(16), 0.001)
            except (OSError, asyncio.TimeoutError):
                pass
        await asyncio.sleep(1)


async def measured(server, seconds, load):
    """Runs a load beside health checks and executions: its figures, and the peak of memory in MB."""
    figures, port = Figures(), int(server.url.rsplit(":", 1)[1])
    forget_peak(server.pid)
    opened, beside = await load(port, figures)
    until = time.monotonic() + seconds
    normal = [execute(port, figures, until) for _ in range(NORMAL_CLIENTS)]
    await asyncio.gather(watch_health(port, figures, until), *normal, *beside(until))
    peak = memory_mb(server.pid, "VmHWM")
    for _, writer in opened:
        writer.close()
    await asyncio.sleep(2)
    return figures, peak


def loads(options):
    async def nothing(port, figures):
        return [], lambda until: []

    async def bodies(port, figures):
        return [], lambda until: [attack(port, figures, until, n * 3) for n in range(HOSTILE_CLIENTS)]

    async def idle(port, figures):
        return await open_many(port, options.idle, figures, b""), lambda until: []

    async def writers(port, figures):
        begin = request_text("POST", "/v1/parse", b"{", length=100000)
        opened = await open_many(port, options.slow, figures, begin)
        return opened, lambda until: [write_slowly(opened, until)]

    async def readers(port, figures):
        begin = request_text("GET", "/v1/datasets/large/examples?format=jsonl")
        opened = await open_many(port, options.slow, figures, begin)
        return opened, lambda until: [read_slowly(opened, until)]

    return [
        ("nothing", nothing), ("hostile bodies", bodies), ("%d idle connections" % options.idle, idle),
        ("%d slow writers" % options.slow, writers), ("%d slow readers" % options.slow, readers)]


def prepare(server):
    graph = json.loads((ROOT / "bench/graphs/one.json").read_text())
    call("POST", server.url + "/v1/graphs", graph)
    rows = [{"inputs": {"question": "Question %d: %s" % (n, "why? " * 20)}} for n in range(LARGE_EXAMPLES)]
    call("POST", server.url + "/v1/datasets", {"name": "large", "examples": rows}, seconds=PATIENCE)


def raise_limit(connections):
    needed, (_, hard) = connections + 1000, resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < needed:
        fail("%d open files are allowed, %d are needed: `ulimit -n` or a smaller --idle" % (hard, needed))
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def measure(options):
    """(name, figures, peak of memory) of each load, one after the other, on one server."""
    raise_limit(options.idle + 2 * options.slow)
    lm = subprocess.Popen([sys.executable, str(ROOT / "scripts/stand_in_lm.py")], stdout=subprocess.PIPE, text=True)
    with tempfile.TemporaryDirectory(prefix="dsrs-hostile-") as scratch:
        pathlib.Path(scratch).chmod(0o711)
        extra = {"DSRS_LIMITS_CONNECTIONS": str(options.idle + options.slow + 100)}
        server = Server(str(options.server), pathlib.Path(scratch) / "data", lm.stdout.readline().strip(), "off", extra)
        try:
            server.ready()
            prepare(server)
            for name, load in loads(options):
                figures, peak = asyncio.run(measured(server, options.seconds, load))
                yield name, figures, peak
            if server.process.poll() is not None:
                fail("the server ended")
        finally:
            stop(server.process)
            stop(lm)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", type=pathlib.Path, required=True)
    parser.add_argument("--seconds", type=int, default=30, help="of each load, at most %d" % (LONGEST_IDLE - 15))
    parser.add_argument("--idle", type=int, default=10000)
    parser.add_argument("--slow", type=int, default=1000)
    options = parser.parse_args()
    print(HEAD + "\n" + "|---" * HEAD.count(" | ") + "|---|", flush=True)
    for name, figures, peak in measure(options):
        print(figures.row(name, options.seconds, peak), flush=True)


if __name__ == "__main__":
    main()
