"""What a section measures with: the programs under test, the stand-in LM, folders, rounds. Builds what is missing."""

import contextlib
import os
import pathlib
import platform
import re
import shutil
import subprocess
import tempfile
import types
from datetime import date

import load
from reporting.figures import OURS, ROOT
from reporting.quiet import Quiet

BEFORE = "before"
FORWARDER = "forwarder"


class Skipped(Exception):
    """Why a section cannot be measured here."""


class Tools:
    """`options` are those of bench/report.py."""

    def __init__(self, options):
        self.options, self.quick = options, options.quick
        self.server = os.path.abspath(options.server)
        self.before = os.path.abspath(options.before) if options.before else None
        self.quiet = Quiet(options.other_load, 0 if options.quick else options.patience)
        self.rounds = options.rounds or (1 if options.quick else 5)
        self.seconds = 1 if options.quick else 3
        self._fakelm, self._forwarder = options.fakelm, options.forwarder

    def servers(self):
        """(name, binary) of the servers to compare."""
        return [(OURS, self.server)] + ([(BEFORE, self.before)] if self.before else [])

    @property
    def fakelm(self):
        if not self._fakelm:
            folder = pathlib.Path(os.environ.get("FAKELM_DIR", ROOT.parent / "shared/fakelm"))
            if not (folder / "Cargo.toml").exists():
                raise Skipped("no stand-in LM in %s: --fakelm names the program, FAKELM_DIR its folder" % folder)
            self._fakelm = load.cargo_build(folder / "Cargo.toml", "fakelm", dict(os.environ))
        return self._fakelm

    @property
    def forwarder(self):
        if not self._forwarder:
            self._forwarder = load.cargo_build(ROOT / "bench/forwarder/Cargo.toml", "forwarder", dict(os.environ))
        return self._forwarder

    @contextlib.contextmanager
    def folder(self):
        """An empty folder, removed at the end. Not inside the clone, and open: as root, Postgres runs as another user."""
        place = pathlib.Path(tempfile.mkdtemp(prefix="dsrs-bench-"))
        place.chmod(0o755)
        try:
            yield place
        finally:
            shutil.rmtree(place, ignore_errors=True)

    @contextlib.contextmanager
    def model(self, latency_ms=0):
        """The address of a stand-in LM."""
        process, address = load.start_fakelm(self.fakelm, "--latency-ms", str(latency_ms))
        try:
            yield address
        finally:
            load.stop(process)

    def alternating(self, measures, rounds=None):
        """{name: [result of each round]} of {name: function}, in quiet rounds whose order alternates."""
        found = {name: [] for name in measures}
        for number in range(rounds or self.rounds):
            # The first of a round has the colder caches.
            for name in list(measures)[:: -1 if number % 2 else 1]:
                self.quiet.wait()
                found[name].append(measures[name]())
        return found

    def having(self, **wanted):
        """The options of a script of bench/, which reads them as attributes."""
        return types.SimpleNamespace(**wanted)


def machine():
    """Processors and memory, without a name of the machine."""
    text = pathlib.Path("/proc/cpuinfo").read_text()
    model = re.search(r"^model name\s*:\s*(.*)$", text, re.M)
    memory = int(re.search(r"^MemTotal:\s+(\d+)", pathlib.Path("/proc/meminfo").read_text(), re.M).group(1))
    name = " ".join(model.group(1).split()) if model else platform.machine()
    return "%d processors, %s, %.0f GB" % (os.cpu_count(), name, memory / 1e6)


def commit():
    """The commit of the clone, marked if files differ from it."""
    git = lambda *words: subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    changed = git("status", "--porcelain", "--untracked-files=no", "--", "src", "crates", "migrations", "Cargo.toml", "Cargo.lock")
    return (git("rev-parse", "--short=8", "HEAD") or "unknown") + (" with changes" if changed else "")


def today():
    return date.today().isoformat()
