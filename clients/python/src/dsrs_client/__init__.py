"""A typed client of dsrs-server.

from dsrs_client import Client

trip = Client("http://127.0.0.1:8080").graph("trip")
print(trip(country="France").sentence)
"""

from __future__ import annotations

from .async_client import AsyncBackgroundRun, AsyncClient, AsyncGraph
from .client import BackgroundRun, Client, Graph, State
from .problem import (
    AccessDenied,
    Conflict,
    InvalidInput,
    NotFound,
    Problem,
    ProblemItem,
    QuotaReached,
    RunFailed,
    ServerUnavailable,
)
from .run import Event, Result, Usage
from .schema_model import GraphModel
from .state import StateDifference
from .transport import RetryPolicy

__all__ = [
    "AccessDenied",
    "AsyncBackgroundRun",
    "AsyncClient",
    "AsyncGraph",
    "BackgroundRun",
    "Client",
    "Conflict",
    "Event",
    "Graph",
    "GraphModel",
    "InvalidInput",
    "NotFound",
    "Problem",
    "ProblemItem",
    "QuotaReached",
    "Result",
    "RetryPolicy",
    "RunFailed",
    "ServerUnavailable",
    "State",
    "StateDifference",
    "Usage",
]
