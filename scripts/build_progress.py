#!/usr/bin/env python3
"""Runs a build of cargo and shows its progress: by cargo's own bar on a terminal, else by a line every REPORT_SECONDS.

    scripts/build_progress.py cargo build --locked
"""

import os
import re
import select
import subprocess
import sys
import time

REPORT_SECONDS = 30
BAR = re.compile(r"\s*Building \[[=> ]*\] (\d+)/(\d+)(?:: (.*))?")
# Hundreds of lines, which the report replaces.
COUNTED = re.compile(r"\s*(Compiling|Downloaded) ")


class Progress:
    """What cargo has done, from the bar that it prints between its messages."""

    def __init__(self):
        self.rest = self.done = self.total = self.current = ""

    def read(self, text):
        """Reads a part of the output and returns its messages.

        >>> progress = Progress()
        >>> progress.read("   Compiling a v1.0.0\\n    Building [=>   ] 1/3: a, b(build)   \\rwarning: un")
        []
        >>> progress.report(61)
        '1 of 3 steps in 1:01 min, now a, b(build)'
        >>> progress.read("used\\n    Finished")
        ['warning: unused']
        >>> progress.read("\\n")
        ['    Finished']
        """
        messages = []
        *parts, self.rest = re.split(r"([\r\n])", self.rest + text)
        for part, end in zip(parts[::2], parts[1::2]):
            bar = BAR.match(part)
            if bar:
                self.done, self.total, self.current = (group or "" for group in bar.groups())
            elif end == "\n" and not COUNTED.match(part):
                messages.append(part)
        return messages

    def report(self, seconds):
        now = ", now " + self.current.strip() if self.current else ""
        return "%s of %s steps in %d:%02d min%s" % (self.done, self.total, seconds // 60, seconds % 60, now)


def build(command):
    """Runs the command without a terminal and returns its exit code.

    >>> build(["sh", "-c", "exit 3"])
    3
    """
    always = {"CARGO_TERM_PROGRESS_WHEN": "always", "CARGO_TERM_PROGRESS_WIDTH": "100", "CARGO_TERM_COLOR": "never"}
    cargo = subprocess.Popen(command, env=os.environ | always, stderr=subprocess.PIPE)
    progress, started = Progress(), time.monotonic()
    due = started + REPORT_SECONDS
    while True:
        if select.select([cargo.stderr], [], [], max(0, due - time.monotonic()))[0]:
            data = os.read(cargo.stderr.fileno(), 65536)
            if not data:
                break
            for message in progress.read(data.decode(errors="replace")):
                print(message, file=sys.stderr, flush=True)
        if time.monotonic() >= due:
            if progress.total:
                print(progress.report(int(time.monotonic() - started)), file=sys.stderr, flush=True)
            due = time.monotonic() + REPORT_SECONDS
    return cargo.wait()


def main():
    command = sys.argv[1:]
    if not command:
        raise SystemExit(__doc__)
    if sys.stderr.isatty():
        os.execvp(command[0], command)
    try:
        code = build(command)
    except KeyboardInterrupt:
        code = 130
    # A shell's code for the end by a signal.
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
