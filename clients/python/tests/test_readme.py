"""The snippets of the README run."""

from __future__ import annotations

import os
import re
from pathlib import Path

from dsrs_client import Client


def test_every_snippet_of_the_readme_runs(client: Client) -> None:
    text = (Path(__file__).parent.parent / "README.md").read_text()
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, re.S))
    code = code.replace('"http://127.0.0.1:8080"', repr(os.environ["DSRS_URL"]))
    exec(compile(code, "README.md", "exec"), {})
