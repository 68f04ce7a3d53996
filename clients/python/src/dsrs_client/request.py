"""Requests and answers as data: what is sent does not depend on who sends it, a blocking or an asynchronous client."""

from __future__ import annotations

import uuid
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import quote

T = TypeVar("T")

Json = Any
"""Any JSON value."""

Operation = Generator["Request | Pause", Json, T]
"""A sequence of requests that ends with a result: each request is yielded, and its answer is sent in."""


@dataclass(frozen=True)
class Pause:
    """A wait between two requests of an operation."""

    seconds: float


@dataclass(frozen=True)
class Request:
    """One request of the API."""

    method: str
    path: str
    json: Json = None
    params: dict[str, str] = field(default_factory=dict)
    content: bytes | None = None
    content_type: str | None = None
    idempotency_key: str | None = None

    @property
    def can_repeat(self) -> bool:
        """Whether a repeat is safe if the answer was lost."""
        return self.method != "POST" or self.idempotency_key is not None

    def headers(self) -> dict[str, str]:
        """Its own headers."""
        headers = {"Idempotency-Key": self.idempotency_key} if self.idempotency_key else {}
        if self.content_type:
            headers["Content-Type"] = self.content_type
        return headers


def get(path: str, **params: Any) -> Request:
    """A request that reads. Parameters that are None are left out."""
    return Request("GET", path, params={name: str(value) for name, value in params.items() if value is not None})


def keyed_post(path: str, json: Json) -> Request:
    """A request that starts something, with a key that makes its repeats safe."""
    return Request("POST", path, json, idempotency_key=uuid.uuid4().hex)


def segment(text: str) -> str:
    """A name as one segment of a path."""
    return quote(text, safe="")


def given(**members: Any) -> dict[str, Any]:
    """The members that are not None."""
    return {name: value for name, value in members.items() if value is not None}


def pages(path: str, **params: Any) -> Operation[list[Json]]:
    """Every item of a list, page by page."""
    items: list[Json] = []
    cursor: str | None = None
    while True:
        page = yield get(path, **params, cursor=cursor)
        items += page["items"]
        cursor = page.get("next_cursor")
        if cursor is None:
            return items
