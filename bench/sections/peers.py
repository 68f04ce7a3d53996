"""CPU of one `predict` beside libraries that do the same in Python, and a gateway that only forwards it. What is not installed is left out."""

import importlib
import json
import os
import subprocess

import compare
import load
from reporting.figures import OURS, ROOT, figure
from reporting.tools import Skipped

CONCURRENCY = 32
GATEWAY = "litellm proxy"
GATEWAY_SECONDS = 240


def library(tools, name, lm):
    """(milliseconds of CPU, versions), or (None, why not)."""
    script = importlib.import_module("peers")
    command = [tools.options.peers, str(ROOT / "bench/peers.py"), name, lm, "--calls", "50" if tools.quick else "500"]
    ended = subprocess.run(command, capture_output=True, text=True)
    if ended.returncode == script.MISSING:
        return None, ended.stderr.strip()
    if ended.returncode:
        return None, "it failed: " + ended.stderr.strip()[-300:]
    found = json.loads(ended.stdout.splitlines()[-1])
    return found["cpu_ms"], found["versions"]


class Gateway:
    """The proxy of litellm, started by the Python of --peers."""

    def __init__(self, tools, lm, scratch):
        program = os.path.join(os.path.dirname(tools.options.peers), "litellm")
        if not os.path.exists(program):
            raise Skipped("no `litellm` beside %s" % tools.options.peers)
        port = load.free_port()
        self.url = "http://127.0.0.1:%d/chat/completions" % port
        self.log = scratch / "litellm.log"
        settings = scratch / "litellm.yaml"
        settings.write_text(json.dumps({"model_list": [
            {"model_name": "fake", "litellm_params": {"model": "openai/fake", "api_base": lm, "api_key": "none"}}]}))
        # Without a key: it listens on loopback alone.
        environment = dict(os.environ, NO_PROXY="127.0.0.1", LITELLM_LOCAL_MODEL_COST_MAP="True",
                           LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY="true")
        with self.log.open("wb") as log:
            self.process = subprocess.Popen([program, "--config", str(settings), "--host", "127.0.0.1", "--port", str(port)],
                                            env=environment, stdout=log, stderr=log)

    def ask(self, body):
        if self.process.poll() is not None:
            raise Skipped("it ended: " + self.log.read_text()[-500:])
        return load.call("POST", self.url, body)

    def measure(self, seconds):
        """Milliseconds of CPU for a request, from one client."""
        script = importlib.import_module("peers")
        body = {"model": "fake", "messages": script.messages(script.QUESTION)}
        load.wait_for(lambda: self.ask(body), GATEWAY_SECONDS)
        before, requests = load.tree_cpu_seconds(self.process.pid), 0
        until = load.time.monotonic() + seconds
        while load.time.monotonic() < until:
            self.ask(body)
            requests += 1
        return (load.tree_cpu_seconds(self.process.pid) - before) * 1000 / requests


def gateway(tools, lm):
    with tools.folder() as scratch:
        try:
            proxy = Gateway(tools, lm, scratch)
        except Skipped as reason:
            return None, str(reason)
        try:
            return proxy.measure(2 * tools.seconds), ""
        except Skipped as reason:
            return None, str(reason)
        except OSError as error:
            return None, "it did not answer within %d s: %s\n%s" % (GATEWAY_SECONDS, error, proxy.log.read_text()[-500:])
        finally:
            load.stop(proxy.process)


def ours(tools, lm):
    options = tools.having(concurrency=CONCURRENCY, seconds=tools.seconds)
    with tools.folder() as scratch:
        server = load.Server(tools.server, scratch / "data", lm, "off")
        try:
            server.ready()
            server.post_graphs()
            load.wrk(server.url, "one", CONCURRENCY, load.WARM_SECONDS, scratch)
            return compare.measure(server, "one", options, scratch)["cpu"]
        finally:
            load.stop(server.process)


def measure(tools):
    script = importlib.import_module("peers")
    with tools.model() as lm:
        measures = {}
        for name in script.PEERS:
            cpu, versions = library(tools, name, lm)
            print("%s: %s" % (name, versions if cpu is not None else "skipped: " + versions), flush=True)
            if cpu is not None:
                measures[versions] = lambda name=name: library(tools, name, lm)[0]
        cpu, reason = gateway(tools, lm)
        if cpu is None:
            print("%s: skipped: %s" % (GATEWAY, reason), flush=True)
        else:
            measures[GATEWAY] = lambda: gateway(tools, lm)[0]
        if not measures:
            raise Skipped("no peer is installed; --peers names a Python that has some")
        found = tools.alternating({OURS: lambda: ours(tools, lm), **measures}, min(tools.rounds, 3))
    return [figure("one predict beside " + name, "ms of CPU", {OURS: found[OURS], "peer": values})
            for name, values in found.items() if name != OURS]
