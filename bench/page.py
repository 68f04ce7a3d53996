#!/usr/bin/env python3
"""What the page costs: server CPU for each view, and how fast Chromium paints and scrolls large ones.

    python3 bench/page.py --server target/release/dsrs-server
    python3 bench/page.py --server target/debug/dsrs-server --spans 500 --nodes 100 --opens 5

It starts the server with a private Postgres and a stand-in LM, creates a graph of `--nodes` nodes, one of 200, and a
run with `--spans` spans, and opens each view `--opens` times over HTTP. Server CPU is that of the server process (user
and system, /proc/PID/stat), without Postgres. Then it opens the large views in headless Chromium (chromedriver), and
reads first contentful paint and the frames of a scroll from top to bottom. It prints Markdown tables. Linux only.
Numbers are only worth something on a machine that does nothing else, and with a release build.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

from load import DIRECT, ROOT, Server, call, cpu_seconds, fail, free_port, start_fakelm, stop

HTML = {"Accept": "text/html"}
# How long Chromium may take for one step.
PATIENCE = 120
SCROLL = """
const done = arguments[0];
const frames = [];
let last = performance.now();
const end = document.documentElement.scrollHeight - innerHeight;
const step = Math.max(400, end / 60);
function frame(now) {
  frames.push(now - last);
  last = now;
  if (scrollY >= end - 1 || frames.length > 200) return done({frames: frames.slice(1), end});
  scrollBy(0, step);
  requestAnimationFrame(frame);
}
requestAnimationFrame(frame);
"""
PAINT = """
const paint = performance.getEntriesByName("first-contentful-paint")[0];
const navigation = performance.getEntriesByType("navigation")[0];
return {paint: paint ? paint.startTime : null, loaded: navigation.loadEventEnd, bytes: navigation.decodedBodySize,
        elements: document.querySelectorAll("*").length};
"""


def large_graph(name, nodes):
    """Layers of ten nodes; each depends on two of the layer before it."""
    definition = {"name": name, "inputs": {"text": "str"}, "nodes": {}, "edges": [], "outputs": {}}
    for number in range(nodes):
        node = "node_%d" % number
        definition["nodes"][node] = {"strategy": "predict", "signature": "first, second -> answer"}
        layer, place = divmod(number, 10)
        for field, other in (("first", place), ("second", (place + 1) % 10)):
            source = "input.text" if layer == 0 else "node_%d.answer" % ((layer - 1) * 10 + other)
            definition["edges"].append({"from": source, "to": "%s.%s" % (node, field)})
    definition["outputs"] = {"last": "node_%d.answer" % (nodes - 1)}
    return definition


def mapped_graph(name):
    module = {"strategy": "predict", "signature": "question -> answer"}
    return {"name": name, "inputs": {"questions": "list[str]"},
            "nodes": {"each": {"strategy": "map", "config": {"module": module, "concurrency": 16}}},
            "edges": [{"from": "input.questions", "to": "each.question"}], "outputs": {"answers": "each.answer"}}


def prepare(url, nodes, spans):
    """Creates the graphs and the run; returns the views to open."""
    for definition in (large_graph("large", nodes), large_graph("two-hundred", 200), mapped_graph("mapped")):
        call("POST", url + "/v1/graphs", definition)
    small = json.loads((ROOT / "examples/graphs/help-desk.json").read_text())
    call("POST", url + "/v1/graphs", small)
    questions = {"inputs": {"questions": ["question %d" % number for number in range(spans)]}}
    run = call("POST", url + "/v1/graphs/mapped/execute", questions, seconds=600)["run_id"]
    for _ in range(100):
        try:
            call("GET", url + "/v1/runs/" + run)
            break
        except urllib.error.HTTPError:
            time.sleep(0.1)
    return {
        "graphs": "/", "a graph": "/graphs/help-desk", "its editor": "/graphs/help-desk/edit",
        "its run form": "/graphs/help-desk/run", "its state": "/graphs/help-desk/state", "runs": "/runs",
        "parse": "/parse", "search": "/search?q=desk", "a graph of 200 nodes": "/graphs/two-hundred",
        "a graph of %d nodes" % nodes: "/graphs/large",
        "a run with %d spans" % spans: "/runs/" + run,
    }


def open_view(url):
    request = urllib.request.Request(url, headers=HTML)
    with DIRECT.open(request, timeout=PATIENCE) as answer:
        return len(answer.read())


def measure_views(server, views, opens):
    print("| view | HTML KB | first open, CPU ms | later, CPU ms each |\n|---|---|---|---|")
    for name, path in views.items():
        before = cpu_seconds(server.pid)
        size = open_view(server.url + path)
        first = cpu_seconds(server.pid) - before
        before = cpu_seconds(server.pid)
        for _ in range(opens):
            open_view(server.url + path)
        each = (cpu_seconds(server.pid) - before) / opens
        print("| %s | %.0f | %.0f | %.1f |" % (name, size / 1000, first * 1000, each * 1000))


class Browser:
    """Headless Chromium through chromedriver."""

    def __init__(self):
        port = free_port()
        self.url = "http://127.0.0.1:%d" % port
        self.driver = subprocess.Popen(["chromedriver", "--port=%d" % port], stdout=subprocess.DEVNULL)
        for _ in range(100):
            try:
                self.call("GET", "/status")
                break
            except OSError:
                time.sleep(0.1)
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,900", "--no-first-run",
                     "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic"]
        capabilities = {"capabilities": {"alwaysMatch": {"goog:chromeOptions": {"args": arguments}}}}
        self.session = "/session/" + self.call("POST", "/session", capabilities)["sessionId"]
        self.call("POST", self.session + "/timeouts", {"script": PATIENCE * 1000})

    def call(self, method, path, body=None):
        return call(method, self.url + path, body, seconds=PATIENCE)["value"]

    def open(self, url):
        self.call("POST", self.session + "/url", {"url": url})

    def run(self, script, kind="sync"):
        return self.call("POST", "%s/execute/%s" % (self.session, kind), {"script": script, "args": []})

    def stop(self):
        stop(self.driver)


def measure_paint(server, views):
    browser = Browser()
    print("\n| view in Chromium | elements | first paint ms | loaded ms | scroll: median frame ms | longest ms |\n|---|---|---|---|---|---|")
    try:
        for name, path in views.items():
            browser.open(server.url + path)
            time.sleep(1)
            paint = browser.run(PAINT)
            frames = sorted(browser.run(SCROLL, "async")["frames"]) or [0]
            print("| %s | %d | %.0f | %.0f | %.0f | %.0f |" % (
                name, paint["elements"], paint["paint"] or 0, paint["loaded"], frames[len(frames) // 2], frames[-1]))
    finally:
        browser.stop()


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--server", required=True)
    options.add_argument("--fakelm", default=str(ROOT.parent / "shared/fakelm/target/release/fakelm"))
    options.add_argument("--nodes", type=int, default=500)
    options.add_argument("--spans", type=int, default=5000)
    options.add_argument("--opens", type=int, default=20)
    given = options.parse_args()
    if not pathlib.Path(given.fakelm).exists():
        fail("no stand-in LM at %s: build it, or name it by --fakelm" % given.fakelm)
    directory = pathlib.Path(tempfile.mkdtemp(prefix="dsrs-page-"))
    lm, lm_url = start_fakelm(given.fakelm)
    server = Server(given.server, directory / "data", lm_url, "ack")
    try:
        server.until(lambda: call("GET", server.url + "/readyz"))
        views = prepare(server.url, given.nodes, given.spans)
        measure_views(server, views, given.opens)
        if shutil.which("chromedriver"):
            measure_paint(server, {name: path for name, path in views.items() if " of " in name or "with" in name or name == "graphs"})
        else:
            print("\nno chromedriver: Chromium was not measured")
    finally:
        stop(server.process)
        stop(lm)
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
