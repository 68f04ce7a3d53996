"""A real server over its own database, and a scripted LM, for all tests of this directory."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import dspy
import httpx
import pytest
from http_client import HttpClient

ANSWERS = Path(__file__).parent / "answers.json"


def _program(variable: str) -> str:
    path = os.environ.get(variable)
    if not path:
        pytest.skip(f"{variable} does not name a program")
    return path


def _line(process: subprocess.Popen[str], pattern: str) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.search(pattern, line):
            return found.group(1)
    raise AssertionError(f"the process ended before it printed {pattern}")


@pytest.fixture(scope="session")
def lm_url() -> Iterator[str]:
    """The scripted LM: it answers every field with the text in `answers.json`."""
    command = [_program("DSRS_FAKELM"), "--port", "0", "--answers", str(ANSWERS)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        address = _line(process, r"listening (\S+)")
        yield f"http://{address}/v1"
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="session")
def server_url(lm_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The server, with the scripted LM as its model and a database of its own."""
    database = f"dspy_{uuid.uuid4().hex[:12]}"
    admin = os.environ.get("DSRS_TEST_POSTGRES", "postgres://root@127.0.0.1:5432")
    subprocess.run(["createdb", "--maintenance-db", f"{admin}/postgres", database], check=True)
    home = tmp_path_factory.mktemp("server")
    environment = {
        **os.environ,
        "DATABASE_URL": f"{admin}/{database}",
        "OPENAI_BASE_URL": lm_url,
        "OPENAI_API_KEY": "none",
        "DSRS_BIND": "127.0.0.1:0",
        "NO_COLOR": "1",
    }
    command = [_program("DSRS_SERVER"), "serve"]
    log = (home / "log").open("w")
    process = subprocess.Popen(command, cwd=home, env=environment, stdout=log, stderr=log)
    try:
        yield _ready(home / "log", process)
    finally:
        process.terminate()
        process.wait(20)
        subprocess.run(["dropdb", "--maintenance-db", f"{admin}/postgres", "--force", database], check=True)


def _ready(log: Path, process: subprocess.Popen[bytes]) -> str:
    for _ in range(300):
        assert process.poll() is None, log.read_text()
        if found := re.search(r"address +(http://\S+)", log.read_text()):
            try:
                if httpx.get(f"{found.group(1)}/readyz").status_code == 200:
                    return found.group(1)
            except httpx.TransportError:
                pass
        time.sleep(0.1)
    raise AssertionError(log.read_text())


@pytest.fixture(scope="session")
def client(server_url: str) -> HttpClient:
    """A client of the server."""
    return HttpClient(server_url)


@pytest.fixture
def lm(lm_url: str) -> Iterator[dspy.LM]:
    """The scripted LM for DSPy itself."""
    model = dspy.LM("openai/scripted", api_base=lm_url, api_key="none", cache=False)
    with dspy.context(lm=model):
        yield model


@pytest.fixture
def name() -> str:
    """A name that no other test uses."""
    return f"g{uuid.uuid4().hex[:10]}"


@pytest.fixture(scope="session")
def answers() -> dict[str, str]:
    """What the scripted LM writes into each field."""
    scripted: dict[str, str] = json.loads(ANSWERS.read_text())
    return scripted


Run = Callable[[str, dict[str, object]], dict[str, object]]


@pytest.fixture
def run(client: HttpClient) -> Run:
    """Executes a graph and returns its outputs."""

    def execute(graph: str, inputs: dict[str, object]) -> dict[str, object]:
        outputs: dict[str, object] = client.request("POST", f"/v1/graphs/{graph}/execute", {"inputs": inputs})[
            "outputs"
        ]
        return outputs

    return execute
