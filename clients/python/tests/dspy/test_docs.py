"""The examples of the pages about DSPy run in their order, and print what the pages say."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import dspy
import pytest

from dsrs_client import Client

DOCS = Path(__file__).parents[4] / "docs"


@pytest.mark.parametrize("page", ["dspy.md", "tutorials/dspy-program.md"])
def test_the_examples_of_the_page_run_and_print_what_it_says(
    page: str,
    client: Client,
    lm: dspy.LM,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    blocks = re.findall(r"```(python|text)\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)
    file = tmp_path / "page.py"
    file.write_text("\n".join(text for kind, text in blocks if kind == "python"))
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(file), {"client": client})
    printed = capsys.readouterr().out
    for text in [text for kind, text in blocks if kind == "text"]:
        assert text in printed
