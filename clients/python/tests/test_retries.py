"""Retries: what is repeated, after how long, and what never is."""

from __future__ import annotations

import httpx

from dsrs_client import RetryPolicy
from dsrs_client.request import Request, keyed_post

POLICY = RetryPolicy(attempts=3, longest_wait=10)


def answer(status: int, **headers: str) -> httpx.Response:
    return httpx.Response(status, headers=headers)


def test_retry_after_is_honoured_and_bounded() -> None:
    wait = POLICY.wait(Request("GET", "/"), 0, answer(429, **{"Retry-After": "2"}))
    assert wait is not None and 2 <= wait < 3
    assert POLICY.wait(Request("GET", "/"), 0, answer(429, **{"Retry-After": "60"})) is None
    assert POLICY.wait(Request("GET", "/"), 2, answer(429, **{"Retry-After": "1"})) is None, "the last attempt"


def test_a_lost_answer_is_repeated_only_if_that_is_safe() -> None:
    assert POLICY.wait(Request("GET", "/"), 0, None) is not None
    assert POLICY.wait(keyed_post("/", {}), 0, None) is not None
    assert POLICY.wait(Request("POST", "/"), 0, None) is None


def test_a_refusal_is_not_repeated() -> None:
    assert POLICY.wait(Request("GET", "/"), 0, answer(422)) is None
    assert POLICY.wait(Request("GET", "/"), 0, answer(500)) is None
