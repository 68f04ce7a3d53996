"""Programs of installed packages: in site-packages, in archives, and without their source."""

from __future__ import annotations

import compileall
import importlib
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

import dsrs_client.dspy.place as place
from dsrs_client.dspy import CannotPush, graph_of

PROGRAM = """
import dspy
from .helper import polite
from {name}_library import shout

class Ask(dspy.Module):
    def __init__(self):
        super().__init__()
        self.ask = dspy.Predict("question -> answer")

    def forward(self, question: str):
        return self.ask(question=polite(question))

class Shout(Ask):
    def forward(self, question: str):
        return self.ask(question=shout(question))
"""


def written(directory: Path, name: str, is_namespace: bool = False) -> None:
    """A package with a program, and a library beside it."""
    package = directory / name
    package.mkdir(parents=True)
    if not is_namespace:
        (package / "__init__.py").write_text("")
    (package / "programs.py").write_text(PROGRAM.format(name=name))
    (package / "helper.py").write_text('def polite(question):\n    return f"{question} Please."\n')
    (directory / f"{name}_library.py").write_text("def shout(text):\n    return text.upper()\n")


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Imports a package from a place where packages are installed."""
    monkeypatch.setattr(place, "LIBRARIES", (*place.LIBRARIES, str(tmp_path)))

    def imported(location: Path, name: str) -> Any:
        monkeypatch.syspath_prepend(str(location))
        for module in [each for each in sys.modules if each.startswith(name)]:
            monkeypatch.delitem(sys.modules, module)
        return importlib.import_module(f"{name}.programs")

    return imported


@pytest.mark.parametrize("kind", ["directory", "namespace", "zip"])
def test_the_code_of_the_installed_package_is_followed_and_that_of_its_libraries_is_not(
    installed: Any, tmp_path: Path, kind: str
) -> None:
    name = f"installed_{kind}"
    written(tmp_path, name, kind == "namespace")
    location = tmp_path
    if kind == "zip":
        location = tmp_path / "packages.zip"
        with zipfile.ZipFile(location, "w") as archive:
            for file in sorted(tmp_path.rglob("*.py")):
                archive.write(file, file.relative_to(tmp_path))
                file.unlink()
    programs = installed(location, name)
    assert set(graph_of(programs.Ask(), "asks")["nodes"]) == {"ask", "render"}
    with pytest.raises(CannotPush, match="calls `shout`, which is Python code"):
        graph_of(programs.Shout(), "shouts")


def test_a_package_without_its_source_is_refused(installed: Any, tmp_path: Path) -> None:
    written(tmp_path, "compiled")
    compileall.compile_dir(str(tmp_path), legacy=True, quiet=1)
    for file in tmp_path.rglob("*.py"):
        file.unlink()
    with pytest.raises(CannotPush) as refusal:
        graph_of(installed(tmp_path, "compiled").Ask(), "asks")
    assert "the source of `forward` is not available" in str(refusal.value)
