"""Waits until the machine does little else before a round, and remembers if it did not. Linux alone: reads /proc."""

import os
import pathlib
import time

TICK = os.sysconf("SC_CLK_TCK")
WINDOW_SECONDS = 1


def busy_ticks(text):
    """What processors did, or others took from them: the first line of /proc/stat less idle and waiting for disks."""
    fields = [int(field) for field in text.splitlines()[0].split()[1:9]]
    return sum(fields) - fields[3] - fields[4]


def parent_and_ticks(text):
    """Of /proc/PID/stat: the parent, and user and system time of the process and of its ended children."""
    fields = text.rsplit(")", 1)[1].split()
    return int(fields[1]), sum(int(ticks) for ticks in fields[11:15])


def own_ticks(processes, root):
    """Of {PID: (parent, ticks)}: what the process and its descendants did."""
    children = {}
    for pid, (parent, _) in processes.items():
        children.setdefault(parent, []).append(pid)
    total, left = 0, [root]
    while left:
        pid = left.pop()
        total += processes.get(pid, (0, 0))[1]
        left += children.get(pid, [])
    return total


def processes():
    found = {}
    for place in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            found[int(place.parent.name)] = parent_and_ticks(place.read_text())
        except OSError:
            pass  # It has ended.
    return found


def other_load(seconds=WINDOW_SECONDS):
    """Processors that others use, measured over so many seconds."""

    def others():
        return busy_ticks(pathlib.Path("/proc/stat").read_text()) - own_ticks(processes(), os.getpid())

    began, before = time.monotonic(), others()
    time.sleep(seconds)
    return max(0.0, (others() - before) / TICK / (time.monotonic() - began))


class Quiet:
    """Waits before a round. `noisy` has the loads of the rounds that began in spite of one."""

    def __init__(self, most=0.15, patience=60, load=other_load):
        self.most, self.patience, self.load, self.noisy, self.rounds = most, patience, load, [], 0

    def wait(self):
        self.rounds += 1
        until = time.monotonic() + self.patience
        found = self.load()
        while found > self.most and time.monotonic() < until:
            found = self.load()
        if found > self.most:
            self.noisy.append(found)

    def summary(self):
        """True, or the load that the rounds had beside them; starts anew."""
        noisy, rounds = self.noisy, self.rounds
        self.noisy, self.rounds = [], 0
        if not noisy:
            return True
        return "%d of %d rounds began beside other work, up to %.1f processors" % (len(noisy), rounds, max(noisy))
