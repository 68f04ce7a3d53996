"""The events of a run in the stream of `dspy.streamify`: texts of fields for its listeners, messages about nodes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import anyio.from_thread
import dspy
from dspy.streaming.messages import StatusMessage, StatusMessageProvider, StatusStreamingCallback

from .field_text import FieldText
from .server import Listener

if TYPE_CHECKING:
    from .remote import Remote

logger = logging.getLogger(__name__)
#: the listeners whose field has been sent, by the streams that are open
SPENT: WeakKeyDictionary[Any, set[int]] = WeakKeyDictionary()
ABOUT_MODULES = ("module_start_status_message", "module_end_status_message")


def listener_of(remote: Remote) -> Listener | None:
    """What receives the events of a run; none where no stream is open, asks for them, or can be written to."""
    if dspy.settings.send_stream is None or not _is_in_worker():
        return None
    made = Streaming(remote, dspy.settings.send_stream)
    return made.receive if made.fields or made.providers else None


def _is_in_worker() -> bool:
    """Whether this thread works for an event loop, to which it can send. The thread of a loop would wait for itself."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        try:
            anyio.from_thread.check_cancelled()
        except RuntimeError:
            return False
        return True
    return False


class Streaming:
    """The stream of one run."""

    def __init__(self, remote: Remote, stream: Any) -> None:
        self.stream = stream
        self.fields = _fields(remote, self._send, SPENT.setdefault(stream, set()))
        self.providers = _providers()
        self.predictors = {item["node"]: remote.nodes[item["path"]] for item in reversed(remote.connection.predictors)}

    def receive(self, kind: str, data: dict[str, Any]) -> None:
        """An event. A call whose stream is closed ends here, which disconnects and so cancels the run."""
        anyio.from_thread.check_cancelled()
        if kind == "node.delta":
            self._add(data)
        elif kind == "node.retry":
            for _, field in self.fields:
                field.discard(data["span"])
        elif kind in ("node.completed", "node.failed"):
            self._end(data["node"])
        if kind in ("node.started", "node.completed") and data["node"] in self.predictors:
            self._inform(kind, data)

    def _add(self, data: dict[str, Any]) -> None:
        for (node, path, name), field in self.fields:
            if data["node"] != node or data["predictor"] != (path or data["predictor"]):
                continue
            if data["field"] == name:
                field.add(data["span"], data["text"])
            else:
                field.end(data["span"])

    def _end(self, node: str) -> None:
        for (own, _, _), field in self.fields:
            if own == node:
                field.end_all()

    def _inform(self, kind: str, data: dict[str, Any]) -> None:
        """Sends what the providers say about a node, by its first predictor. A provider that fails is logged."""
        for provider in self.providers:
            try:
                if kind == "node.started":
                    inputs: dict[str, Any] = {"args": (), "kwargs": {}}
                    text = provider.module_start_status_message(self.predictors[data["node"]], inputs)
                else:
                    text = provider.module_end_status_message(dspy.Prediction(**data["outputs"]))
            except Exception as error:
                logger.warning("%s fails: %s", type(provider).__name__, error)
                continue
            if text:
                self._send(StatusMessage(text))

    def _send(self, value: Any) -> None:
        anyio.from_thread.run(self.stream.send, value)


#: the node, the path of the predictor (none for any of the node) and the name of a field
_Target = tuple[str, str | None, str]


def _fields(remote: Remote, send: Callable[[Any], None], spent: set[int]) -> list[tuple[_Target, FieldText]]:
    """The fields of the graph that the open stream listens to."""
    paths = {id(predictor): path for path, predictor in remote.nodes.items()}
    nodes = {item["path"]: item["node"] for item in remote.connection.predictors}
    found: list[tuple[_Target, FieldText]] = []
    for listener in dspy.settings.stream_listeners or []:
        name = listener.signature_field_name
        if listener.predict is remote and name in remote.connection.graph["outputs"]:
            node, _, output = remote.connection.graph["outputs"][name].partition(".")
            found.append(((node, None, output), FieldText(listener, send, spent)))
        elif (path := paths.get(id(listener.predict))) is not None:
            found.append(((nodes[path], path, name), FieldText(listener, send, spent)))
    return found


def _providers() -> list[Any]:
    """The providers of the open stream that have messages of their own about modules."""
    callbacks = [each for each in dspy.settings.callbacks or [] if isinstance(each, StatusStreamingCallback)]
    providers = [callback.status_message_provider for callback in callbacks]
    return [provider for provider in providers if any(_is_own(provider, name) for name in ABOUT_MODULES)]


def _is_own(provider: Any, name: str) -> bool:
    return getattr(type(provider), name) is not getattr(StatusMessageProvider, name)
