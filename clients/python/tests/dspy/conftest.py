"""The server and the stand-in LM that `scripts/python-client.sh` starts, for all tests of this directory."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import dspy
import pytest

from dsrs_client import Client

ANSWERS = Path(__file__).parent / "answers.json"


def _variable(name: str) -> str:
    value = os.environ.get(name)
    if not value:
        pytest.skip(f"{name} is not set: run scripts/python-client.sh")
    return value


@pytest.fixture(scope="session")
def lm_url() -> str:
    """The stand-in LM: it answers every field with the text in `answers.json`."""
    return _variable("DSRS_LM_URL")


@pytest.fixture(scope="session")
def client() -> Iterator[Client]:
    """A client of the server of DSRS_URL, whose model is the same LM."""
    with Client(_variable("DSRS_URL")) as client:
        yield client


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
def run(client: Client) -> Run:
    """Executes a graph and returns its outputs."""

    def execute(graph: str, inputs: dict[str, object]) -> dict[str, object]:
        outputs: dict[str, object] = client.request("POST", f"/v1/graphs/{graph}/execute", {"inputs": inputs})[
            "outputs"
        ]
        return outputs

    return execute
