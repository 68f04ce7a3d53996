"""Sends requests with httpx, blocking or asynchronously, and repeats what may be repeated."""

from __future__ import annotations

import asyncio
import json
import os
import random
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx

from .problem import Problem, problem_of
from .request import Json, Operation, Pause, Request

T = TypeVar("T")


@dataclass(frozen=True)
class RetryPolicy:
    """How often a request is repeated, and how long at most to wait for `Retry-After`."""

    attempts: int = 4
    longest_wait: float = 30.0

    def wait(self, request: Request, attempt: int, answer: httpx.Response | None) -> float | None:
        """Seconds to wait before the next attempt; None if there is none."""
        if attempt + 1 >= self.attempts:
            return None
        if answer is None:
            return _backoff(attempt) if request.can_repeat else None
        named = answer.headers.get("retry-after")
        if answer.status_code in (429, 503) and named and named.isdigit():
            seconds = float(named)
            return seconds + random.random() / 4 if seconds <= self.longest_wait else None
        return _backoff(attempt) if answer.status_code == 503 and request.can_repeat else None


def _backoff(attempt: int) -> float:
    return float(min(8.0, 0.25 * 2**attempt) * (0.5 + random.random() / 2))


def _arguments(request: Request) -> dict[str, Any]:
    arguments: dict[str, Any] = {"headers": request.headers()}
    # httpx takes empty parameters as a reason to remove the query of the path.
    if request.params:
        arguments["params"] = request.params
    if request.content is not None:
        arguments["content"] = request.content
    elif request.json is not None:
        arguments["json"] = request.json
    return arguments


def _read(answer: httpx.Response) -> Json:
    if answer.is_success:
        return answer.json() if answer.content else None
    raise problem_from(answer.status_code, answer.content)


def problem_from(status: int, body: bytes) -> Problem:
    """The exception for the body of an answer, which a proxy may have written."""
    try:
        found = json.loads(body)
    except ValueError:
        found = {"detail": body.decode(errors="replace")[:500]}
    return problem_of(status, found if isinstance(found, dict) else {"detail": str(found)})


def _client_arguments(url: str | None, api_key: str | None, timeout: float) -> dict[str, Any]:
    key = api_key or os.environ.get("DSRS_API_KEY")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    base_url = url or os.environ.get("DSRS_URL") or "http://127.0.0.1:8080"
    return {"base_url": base_url, "headers": headers, "timeout": timeout}


class Transport:
    """Sends requests and waits for their answers."""

    def __init__(self, url: str | None, api_key: str | None, timeout: float, retry: RetryPolicy) -> None:
        self._http = httpx.Client(**_client_arguments(url, api_key, timeout))
        self._retry = retry
        self._without_key = (url, timeout, retry)

    def __reduce__(self) -> Any:
        """A pickle has no key: the process that reads it has its own in `DSRS_API_KEY`."""
        url, timeout, retry = self._without_key
        return Transport, (url, None, timeout, retry)

    def send(self, request: Request) -> Json:
        """The JSON of the answer."""
        for attempt in range(self._retry.attempts):
            answer = None
            try:
                answer = self._http.request(request.method, request.path, **_arguments(request))
            except httpx.TransportError:
                if self._retry.wait(request, attempt, None) is None:
                    raise
            wait = self._retry.wait(request, attempt, answer)
            if answer is not None and (answer.is_success or wait is None):
                return _read(answer)
            time.sleep(wait or 0)
        raise AssertionError("the last attempt returns or raises")

    def run(self, operation: Operation[T]) -> T:
        """The result of an operation."""
        answer: Json = None
        while True:
            try:
                request = operation.send(answer)
            except StopIteration as end:
                result: T = end.value
                return result
            if isinstance(request, Pause):
                time.sleep(request.seconds)
                answer = None
            else:
                answer = self.send(request)

    @contextmanager
    def stream(self, request: Request) -> Iterator[Iterator[str]]:
        """The lines of a stream of events."""
        headers = {**request.headers(), "Accept": "text/event-stream"}
        with self._http.stream(
            request.method, request.path, json=request.json, headers=headers, timeout=None
        ) as answer:
            if not answer.is_success:
                raise problem_from(answer.status_code, answer.read())
            yield answer.iter_lines()

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()


class AsyncTransport:
    """The same for asynchronous clients."""

    def __init__(self, url: str | None, api_key: str | None, timeout: float, retry: RetryPolicy) -> None:
        self._http = httpx.AsyncClient(**_client_arguments(url, api_key, timeout))
        self._retry = retry

    async def send(self, request: Request) -> Json:
        """The JSON of the answer."""
        for attempt in range(self._retry.attempts):
            answer = None
            try:
                answer = await self._http.request(request.method, request.path, **_arguments(request))
            except httpx.TransportError:
                if self._retry.wait(request, attempt, None) is None:
                    raise
            wait = self._retry.wait(request, attempt, answer)
            if answer is not None and (answer.is_success or wait is None):
                return _read(answer)
            await asyncio.sleep(wait or 0)
        raise AssertionError("the last attempt returns or raises")

    async def run(self, operation: Operation[T]) -> T:
        """The result of an operation."""
        answer: Json = None
        while True:
            try:
                request = operation.send(answer)
            except StopIteration as end:
                result: T = end.value
                return result
            if isinstance(request, Pause):
                await asyncio.sleep(request.seconds)
                answer = None
            else:
                answer = await self.send(request)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[AsyncIterator[str]]:
        """The lines of a stream of events."""
        headers = {**request.headers(), "Accept": "text/event-stream"}
        sending = self._http.stream(request.method, request.path, json=request.json, headers=headers, timeout=None)
        async with sending as answer:
            if not answer.is_success:
                raise problem_from(answer.status_code, await answer.aread())
            yield answer.aiter_lines()

    async def close(self) -> None:
        """Closes the connections."""
        await self._http.aclose()
