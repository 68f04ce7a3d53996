"""The smallest client: what `dsrs_client.dspy` needs, over httpx."""

from __future__ import annotations

from typing import Any

import httpx


class Problem(Exception):
    """A problem that the server answered."""

    def __init__(self, status: int, problem: Any) -> None:
        super().__init__(f"{status} {problem}")
        self.status, self.problem = status, problem


class HttpClient:
    """Sends requests to one server."""

    def __init__(self, base_url: str) -> None:
        self._http = httpx.Client(base_url=base_url, timeout=60)

    def request(self, method: str, path: str, json: Any = None) -> Any:
        """One request; a status from 400 on raises."""
        answer = self._http.request(method, path, json=json)
        body = answer.json() if answer.content else None
        if answer.status_code >= 400:
            raise Problem(answer.status_code, body)
        return body
