"""`python -m dsrs_client.dspy push`: once, and with `--watch` again whenever the file changes."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dsrs_client import Client, NotFound
from dsrs_client.dspy.program_file import target_of

#: a watch that says nothing for so long is broken
SECONDS = 300
PROGRAM = """import dspy
from helper import FIELDS


class Ask(dspy.Module):
    def __init__(self):
        super().__init__()
        self.ask = dspy.Predict(FIELDS)

    def forward(self, question: str):
        print("traced")
        return self.ask(question=question)
"""
HELPER = 'FIELDS = "question -> answer"\n'


@pytest.fixture
def place(tmp_path: Path, client: Client) -> Path:
    """A directory with a program and a module that it imports."""
    (tmp_path / "tour.py").write_text(PROGRAM)
    (tmp_path / "helper.py").write_text(HELPER)
    return tmp_path


def ran(place: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command, once."""
    command = [sys.executable, "-m", "dsrs_client.dspy", "push", *arguments]
    known = {**os.environ, **environment}
    return subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=SECONDS, env=known, check=False)


def rows(text: str) -> list[list[str]]:
    """The cells of a table."""
    return [line.split() for line in text.splitlines()]


def test_a_file_is_pushed_and_pushed_again_without_a_change(place: Path, name: str, client: Client) -> None:
    first = ran(place, "tour.py", "--name", name)
    assert first.returncode == 0, first.stderr
    assert (
        rows(first.stdout)
        == [
            ["FILE", "KIND", "GRAPH", "RESULT", "VERSION"],
            ["tour.py", "graph", name, "created", "1"],
            ["tour.py", "state", name, "unchanged", "1"],
        ]
        or rows(first.stdout)[2][3] == "changed"
    )
    again = ran(place, "tour.py", "--name", name, "--json")
    found = json.loads(again.stdout)
    assert [(row["kind"], row["result"]) for row in found] == [("graph", "unchanged"), ("state", "unchanged")]
    run = client.request("POST", f"/v1/graphs/{name}/execute", {"inputs": {"question": "Where?"}})
    assert run["outputs"] == {"answer": "Lima"}


def test_a_program_is_an_object_a_class_or_what_a_function_makes(place: Path, name: str, client: Client) -> None:
    text = f"""{PROGRAM}
def {name}():
    return Ask()

class Makers:
    object = Ask()
"""
    (place / "tour.py").write_text(text)
    assert rows(ran(place, f"tour.py:{name}").stdout)[1][2] == name
    for target in ("tour.py:Ask", "tour.py:Makers.object"):
        assert ran(place, target, "--name", name).returncode == 0
    several = ran(place, "tour.py:Asks", "--name", name)
    assert several.returncode == 2
    assert several.stderr == "dsrs_client.dspy: tour.py: it has no `Asks`; did you mean `Ask`?\n"


@pytest.mark.parametrize(
    ("target", "graph"),
    [
        ("tour.py", "tour"),
        ("a/my tour.py", "my-tour"),
        ("tour.py:TourGuide", "tour-guide"),
        ("t.py:all.Trip2", "all-trip2"),
    ],
)
def test_a_graph_is_named_after_its_program_or_its_file(target: str, graph: str) -> None:
    assert target_of(target).graph == graph


def test_a_file_of_a_package_imports_its_neighbours(place: Path, name: str) -> None:
    package = place / "shop" / "desk"
    package.mkdir(parents=True)
    for directory in (package.parent, package):
        (directory / "__init__.py").write_text("")
    (package / "helper.py").write_text(HELPER)
    (package / "tour.py").write_text(PROGRAM.replace("from helper", "from .helper"))
    done = ran(place, "shop/desk/tour.py", "--name", name)
    assert done.returncode == 0, done.stderr


UNUSABLE: dict[str, tuple[str, str]] = {
    "syntax": ("def forward(\n", 'tour.py", line 1'),
    "exception": ("import dspy\nprint(1 / 0)\n", "ZeroDivisionError: division by zero"),
    "exit": ("import sys\nsys.exit(3)\n", "SystemExit: 3"),
    "missing": ("import nothing_of_this_name\n", "No module named 'nothing_of_this_name'"),
    "none": ("x = 1\n", "tour.py: it has no DSPy program; name one, or a function that makes one: tour.py:NAME"),
    "several": (
        "import dspy\na = dspy.Predict('q -> a')\nb = dspy.Predict('q -> b')\n",
        "tour.py: it has several programs; name one of tour.py:a, tour.py:b",
    ),
    "options": (
        "import dspy\na = dspy.Predict('q -> a')\npush_options = {'tool': 1}\n",
        "tour.py: `push_options` has `tool`; known are description, inputs, models, outside, rewards, strict, tools",
    ),
    "constructor": (
        f"{PROGRAM}\n        raise KeyError(question)\nAsk.__init__ = lambda self: 1 / 0\n",
        "ZeroDivision",
    ),
}


@pytest.mark.parametrize("case", UNUSABLE)
def test_a_file_that_cannot_be_used_ends_with_2_and_its_own_error(place: Path, name: str, case: str) -> None:
    text, message = UNUSABLE[case]
    (place / "tour.py").write_text(text)
    done = ran(place, "tour.py", "--name", name)
    assert done.returncode == 2 and message in done.stderr and done.stdout == ""
    assert "dsrs_client/dspy/program_file.py" not in done.stderr and "importlib" not in done.stderr


def test_a_file_that_does_not_exist_ends_with_2(place: Path, name: str) -> None:
    done = ran(place, "nowhere.py")
    assert (done.returncode, done.stderr) == (2, "dsrs_client.dspy: nowhere.py: there is no such file\n")


def test_a_refused_program_ends_with_1_and_stores_nothing(place: Path, name: str, client: Client) -> None:
    (place / "tour.py").write_text(PROGRAM.replace("question=question)", "question=question.title())"))
    done = ran(place, "tour.py", "--name", name)
    assert done.returncode == 1 and rows(done.stdout)[1] == ["tour.py", "graph", name, "refused"]
    assert f"{place / 'tour.py'}:12: `.title` of" in done.stderr
    with pytest.raises(NotFound):
        client.request("GET", f"/v1/graphs/{name}")


def test_options_of_the_file_and_strict_apply(place: Path, name: str, client: Client) -> None:
    uses = PROGRAM.replace("question=question)", "question=search(question))")
    search = "\ndef search(query):\n    return open(query).read()\n\npush_options = {'outside': {'search': str}}\n"
    (place / "tour.py").write_text(uses + search)
    assert ran(place, "tour.py", "--name", name, "--description", "Answers.").returncode == 0
    stored = client.request("GET", f"/v1/graphs/{name}")
    assert stored["nodes"]["search"]["strategy"] == "await" and stored["description"] == "Answers."
    (place / "tour.py").write_text(PROGRAM.replace("dspy.Predict(FIELDS)", "dspy.Predict(FIELDS, logprobs=True)"))
    assert ran(place, "tour.py", "--name", name).returncode == 0
    refused = ran(place, "tour.py", "--name", name, "--strict")
    assert refused.returncode == 1 and "settings are left out that a graph does not have" in refused.stderr


def test_a_server_that_is_away_ends_with_3_and_a_wrong_key_with_1(place: Path, name: str) -> None:
    away = ran(place, "tour.py", "--name", name, "--server", "http://127.0.0.1:9")
    assert away.returncode == 3 and "the server cannot be reached" in away.stderr
    assert ran(place, "tour.py", "--name", name, DSRS_API_KEY="wrong").returncode == 1
    assert ran(place, "tour.py", "--name", name, "--server", "nowhere").returncode == 2


class Watched:
    """A command that watches, and its lines."""

    def __init__(self, place: Path, *arguments: str) -> None:
        command = [sys.executable, "-u", "-m", "dsrs_client.dspy", "push", *arguments, "--watch"]
        self.process = subprocess.Popen(
            command,
            cwd=place,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            # In the background of a shell, Ctrl-C is ignored.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        self.lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self.process.stdout or ():
            self.lines.put(line)

    def until(self, text: str) -> str:
        """The lines up to one with a text."""
        seen, end = "", time.monotonic() + SECONDS
        while text not in seen.rpartition("\n")[0].rpartition("\n")[2]:
            try:
                seen += self.lines.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"no line with {text!r} in:\n{seen}") from None
        return seen


Watch = Callable[..., Watched]


@pytest.fixture
def watch(place: Path) -> Iterator[Watch]:
    """Starts a command that watches, and ends it."""
    started: list[Watched] = []

    def start(*arguments: str) -> Watched:
        started.append(Watched(place, *arguments))
        return started[-1]

    yield start
    for each in started:
        each.process.kill()


READY = "Ctrl-C ends"


def version_of(client: Client, name: str) -> Any:
    """The version of a graph."""
    return client.request("GET", f"/v1/graphs/{name}")["version"]


def test_a_change_of_the_file_or_of_its_module_is_pushed_and_ctrl_c_ends(
    place: Path, name: str, watch: Watch, client: Client
) -> None:
    watched = watch("tour.py", "--name", name)
    assert "watching tour.py and 1 file of its directory" in watched.until(READY)
    (place / "helper.py").write_text('FIELDS = "question -> answer, number: int"\n')
    assert "helper.py changed" in watched.until(READY)
    assert version_of(client, name) == 2
    (place / "unrelated.py").write_text("x = 1\n")
    (place / "next.py").write_text(PROGRAM.replace("question: str", "question: str, mood: str = 'calm'"))
    os.replace(place / "next.py", place / "tour.py")
    assert "tour.py changed" in watched.until(READY)
    assert version_of(client, name) == 2
    watched.process.send_signal(signal.SIGINT)
    assert watched.process.wait(SECONDS) == 0


def test_the_watch_survives_what_a_file_goes_through(place: Path, name: str, watch: Watch, client: Client) -> None:
    watched = watch("tour.py", "--name", name)
    watched.until(READY)
    (place / "tour.py").write_text(PROGRAM[: len(PROGRAM) // 2])
    assert "SyntaxError" in watched.until(READY)
    (place / "tour.py").write_text(PROGRAM.replace("from helper", "from later"))
    assert "No module named 'later'" in watched.until(READY)
    (place / "later.py").write_text(HELPER)
    watched.until(READY)
    (place / "tour.py").unlink()
    seen = watched.until("it is pushed as soon as there is")
    assert "tour.py is deleted" in seen
    (place / "tour.py").write_text(PROGRAM.replace("question=question)", "question=question.title())"))
    assert "refused" in watched.until(READY)
    (place / "tour.py").write_text(f"{PROGRAM}\nimport os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
    assert "the push was ended by signal 9" in watched.until(READY)
    (place / "tour.py").write_text(f"{PROGRAM}\nprint('begins', flush=True)\nwhile True: pass\n")
    watched.until("begins")
    (place / "tour.py").write_text(PROGRAM.replace("Predict(FIELDS)", "ChainOfThought(FIELDS)"))
    watched.until(READY)
    assert client.request("GET", f"/v1/graphs/{name}")["nodes"]["ask"]["strategy"] == "chain_of_thought"


def test_a_server_that_is_away_for_a_moment_is_asked_again(place: Path, name: str, watch: Watch) -> None:
    watched = watch("tour.py", "--name", name, "--server", "http://127.0.0.1:9")
    watched.until("trying again in 1 s")
    watched.until("trying again in 2 s")
    watched.process.terminate()
    assert watched.process.wait(SECONDS) == 0


def test_a_program_of_a_watched_file_has_nothing_of_the_version_before(
    place: Path, name: str, watch: Watch, client: Client
) -> None:
    configured = "\ndspy.configure(lm=dspy.LM('openai/o4-mini', temperature=1.0, max_tokens=20000))\n"
    (place / "tour.py").write_text(PROGRAM + configured)
    watched = watch("tour.py", "--name", name)
    assert "note: settings of the configured model" in watched.until(READY)
    (place / "tour.py").write_text(PROGRAM)
    assert "note:" not in watched.until(READY)
