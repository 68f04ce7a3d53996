"""Pushes a file whenever it changes. Each push is a process of its own, so that nothing of an older one is left."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from .imported_files import Mark, marks_of
from .program_file import directory_of
from .push_command import DONE, UNAVAILABLE

POLL_SECONDS = 0.2
LONGEST_WAIT = 30.0
Say = Callable[[Iterable[str]], None]


class Watch:
    """One file, the modules that it imports from its directory, and the push that runs."""

    def __init__(self, file: Path, arguments: list[str], say: Say) -> None:
        self.file, self.arguments, self.say = file, arguments, say
        self.main = os.path.realpath(file)
        self.files = {self.main}
        self.has_failed = False
        self.seen: dict[str, Mark] = {}
        self.push: subprocess.Popen[bytes] | None = None
        self.retry_at: float | None = None
        self.failures = 0
        handle, self.report = tempfile.mkstemp(prefix="dsrs-push-")
        os.close(handle)

    def run(self) -> int:
        """Watches until it is interrupted."""
        signal.signal(signal.SIGTERM, _interrupt)
        try:
            self._start()
            while True:
                time.sleep(POLL_SECONDS)
                self._step()
        except KeyboardInterrupt:
            return DONE
        finally:
            self._stop()
            os.unlink(self.report)

    def _marks(self) -> dict[str, Mark]:
        """What is watched. Where a push failed, a module that it did not import may be what is missing or wrong."""
        files = set(self.files)
        if self.has_failed:
            directory = directory_of(self.file)
            files |= {str(each) for pattern in ("*.py", "*/__init__.py") for each in directory.glob(pattern)}
        return marks_of(files)

    def _step(self) -> None:
        if self._marks() != self.seen:
            self._changed()
        elif self.push is not None and (code := self.push.poll()) is not None:
            self.push = None
            self._ended(code)
        elif self.retry_at is not None and time.monotonic() >= self.retry_at:
            self._start()

    def _changed(self) -> None:
        """Waits for the end of the write, and pushes. A file that is written in parts may be pushed once more."""
        before, marks = None, self._marks()
        while before != marks:
            time.sleep(POLL_SECONDS)
            before, marks = marks, self._marks()
        changed = [file for file in sorted({*marks, *self.seen}) if marks.get(file) != self.seen.get(file)]
        self.failures = 0
        if not changed:
            return
        self.say([f"{os.path.relpath(changed[0])} {'changed' if marks.get(changed[0]) else 'is deleted'}"])
        self._start()

    def _start(self) -> None:
        self._stop()
        self.retry_at, self.seen = None, self._marks()
        if self.seen[self.main] is None:
            self.say([f"{self.file}: there is no such file; it is pushed as soon as there is"])
            return
        Path(self.report).write_text("")
        command = [sys.executable, "-m", "dsrs_client.dspy", *self.arguments, "--report", self.report]
        self.push = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)

    def _ended(self, code: int) -> None:
        """Learns what the push imported; without the server it is tried again."""
        self._learn(code)
        if code < 0:
            self.say([f"the push was ended by signal {-code}"])
        if code == UNAVAILABLE:
            seconds = min(LONGEST_WAIT, 2.0**self.failures)
            self.failures, self.retry_at = self.failures + 1, time.monotonic() + seconds
            self.say([f"trying again in {seconds:.0f} s"])
            return
        self.failures = 0
        self.say([f"watching {self.file}{_others(len(self.files) - 1)}; Ctrl-C ends"])

    def _learn(self, code: int) -> None:
        """What the next push depends on. What is watched already has the mark from before this push."""
        self.has_failed = code not in (DONE, UNAVAILABLE)
        self.files = {self.main, *self._reported(), *(self.files if self.has_failed else ())}
        self.seen = {file: self.seen.get(file, mark) for file, mark in self._marks().items()}

    def _reported(self) -> list[str]:
        try:
            return [str(file) for file in json.loads(Path(self.report).read_text())]
        except ValueError:
            return []

    def _stop(self) -> None:
        """Ends the push that runs, with the processes that it started."""
        if self.push is not None and self.push.poll() is None:
            _end_group(self.push, "SIGTERM")
            try:
                self.push.wait(5)
            except subprocess.TimeoutExpired:
                _end_group(self.push, "SIGKILL")
                self.push.wait()
        self.push = None


def _end_group(push: subprocess.Popen[bytes], name: str) -> None:
    """Signals a push and what it started; Windows has no such groups."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(push.pid, getattr(signal, name))
    else:
        push.kill()


def _others(count: int) -> str:
    return f" and {count} {'file' if count == 1 else 'files'} of its directory" if count else ""


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt
