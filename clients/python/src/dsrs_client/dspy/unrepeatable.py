"""Calls whose results differ from run to run: clocks, randomness, other services. A graph has one result for all runs.

A clock may be read for a message. So its result is moved in the second trace: where it is a part of the graph, the
graphs differ.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from concurrent.futures import Executor
from datetime import date, timedelta
from multiprocessing.pool import Pool
from threading import Thread
from types import MethodType
from typing import Any, NoReturn

import dspy

from .refusal import op, refuse

#: what a trace leaves out: it changes no value
IGNORED: tuple[Callable[..., Any], ...] = (time.sleep,)
#: what changes settings for all programs
CONFIGURING = (dspy.configure, dspy.configure_cache)
#: modules of randomness, with the functions that do not depend on it
RANDOM_MODULES = {"random", "secrets", "numpy.random"}
#: functions of `time` that return a number, and those of `datetime`
CLOCKS = {
    "time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "process_time",
    "process_time_ns", "thread_time", "thread_time_ns",
}  # fmt: skip
NOW = {"now", "utcnow", "today"}
#: functions of `time` that write the present time
PRESENT = {"ctime", "asctime", "localtime", "gmtime", "strftime"}
#: how far the clock is moved in the second trace: another year, month, weekday and minute
MOVED = timedelta(days=400, hours=5, minutes=7, seconds=11)
REPEATABLE = {"seed", "compare_digest"}
#: packages that ask other services
SERVICES = {
    "openai", "litellm", "anthropic", "google", "cohere", "mistralai", "groq", "ollama", "together", "boto3",
    "botocore", "huggingface_hub", "requests", "httpx", "aiohttp", "urllib", "urllib3", "http", "socket", "subprocess",
    "dspy.clients", "dspy.retrievers", "dspy.dsp.colbertv2",
}  # fmt: skip
PARSERS = {"urllib.parse", "http.cookies"}
WAY_OUT = "Make it an input of `forward`, or name the function in `outside=`."


def refuse_unrepeatable(function: Any) -> None:
    """Refuses a call whose result a graph would store for all runs."""
    owner, name = getattr(function, "__self__", None), getattr(function, "__name__", type(function).__name__)
    module = _module(function, owner)
    if isinstance(owner, (Executor, Pool)) or function is Thread or (isinstance(owner, Thread) and name == "start"):
        refuse(f"runs code in another thread by `{name}`; a graph runs independent nodes at once", op("parallel"))
    if any(function is each or (isinstance(function, MethodType) and function == each) for each in CONFIGURING):
        refuse(f"calls `dspy.{name}`, which changes settings for all programs; call it before `push`")
    if module == "time" and name in PRESENT:
        _refuse(f"reads the clock by `{name}`")
    if (isinstance(owner, random.Random) or module in RANDOM_MODULES) and name not in REPEATABLE:
        _refuse(f"draws random values by `{name}`")
    if _is_service(module) and not isinstance(function, type):
        _refuse(f"asks another service by `{name}`")


def is_clock(function: Any) -> bool:
    """Whether it returns the present time as a number or a date."""
    owner, name = getattr(function, "__self__", None), getattr(function, "__name__", "")
    if isinstance(owner, type) and issubclass(owner, date):
        return name in NOW
    return name in CLOCKS and getattr(function, "__module__", None) == "time"


def moved(function: Any, present: Any) -> Any:
    """Another time than the present one, of the same kind."""
    if isinstance(present, date):
        return present + MOVED
    seconds = MOVED.total_seconds()
    return present + (int(seconds * 1e9) if function.__name__.endswith("_ns") else seconds)


def _is_service(module: str) -> bool:
    if module in PARSERS:
        return False
    parts = module.split(".")
    return any(".".join(parts[: count + 1]) in SERVICES for count in range(len(parts)))


def _module(function: Any, owner: Any) -> str:
    """The module that defines a function, the class of its owner, or the class of an object that can be called."""
    if owner is not None and not isinstance(owner, type) and type(owner).__module__ not in ("builtins", "_io"):
        return str(getattr(owner, "__name__", None) if _is_module(owner) else type(owner).__module__)
    return str(getattr(function, "__module__", None) or type(function).__module__)


def _is_module(owner: Any) -> bool:
    return type(owner).__name__ == "module"


def _refuse(what: str) -> NoReturn:
    refuse(f"{what}: a graph would have the result of this one call in all runs", WAY_OUT)
