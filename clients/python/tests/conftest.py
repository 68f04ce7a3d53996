"""A client of the server that `scripts/python-client.sh` starts, and a graph of its own for each test."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator

import pytest

from dsrs_client import Client, Graph


@pytest.fixture(scope="session")
def client() -> Iterator[Client]:
    """A client of the server of DSRS_URL."""
    if not os.environ.get("DSRS_URL"):
        pytest.skip("DSRS_URL names no server: run scripts/python-client.sh")
    with Client() as client:
        yield client


@pytest.fixture
def name() -> str:
    """A name that no other test uses."""
    return f"g{uuid.uuid4().hex[:10]}"


@pytest.fixture
def ask(client: Client, name: str) -> Graph:
    """A graph of one node."""
    return client.push({"name": name, "nodes": {"ask": {"strategy": "predict", "signature": "question -> answer"}}})
