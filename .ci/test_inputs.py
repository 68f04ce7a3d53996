#!/usr/bin/env python3
"""Checks the inputs of the steps of .ci/run: a file that a skipped step would have read is among them. Reads what the steps and
their scripts name, and what sources embed; runs no step."""

import pathlib
import posixpath
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
RUN = ROOT / ".ci/run"
# The lines of a step end at an empty line or at a comment.
STEP = re.compile(r"^keyed ([\w-]+) (.*?)(?=^$|^#|\Z)", re.M | re.S)
COMMENT = re.compile(r'^\s*#.*$|"""(?:.*?)"""', re.M | re.S)
PATH = re.compile(r"(?<![\w/.$}])(?:\w[\w.-]*/)+[\w.-]+")
EMBEDDED = re.compile(r'include_(?:str|bytes)!\(\s*"([^"]+)"')
# What a step names and does not depend on, and why.
NAMED_ONLY = {
    "restate": {"docs/limits.md": "a test that this step leaves out contains it",
                "docs/operations/metrics.md": "the same",
                "docs/strategies.md": "the same",
                "deploy/grafana/dsrs-server.json": "the same",
                "deploy/prometheus/dsrs-server.rules.yml": "the same"},
    "snippets": {"clients/python/tests/dspy/test_docs.py": "tests that run the snippets of a page elsewhere",
                 "crates/dsrs/tests/metrics/guide.rs": "the same",
                 "tests/it/shows/strategies.rs": "the same",
                 "crates/dsrs/tests/corpus.rs": "the same"},
}


def inputs_by_step():
    found = {}
    for line in subprocess.check_output([str(RUN), "--inputs"], text=True).splitlines():
        if line.endswith(":"):
            files = found[line[:-1]] = []
        elif not line.startswith("="):
            files.append(line.split(" ", 2)[2])
    return found


def named_paths(text):
    """The files and directories of the repository that a script names."""
    for path in PATH.findall(COMMENT.sub("", text)):
        path = path.rstrip(".")
        if (ROOT / path).exists() and not path.startswith("target/"):
            yield path


def embedded_paths(source):
    """The files that a Rust source contains at compile time."""
    for path in EMBEDDED.findall((ROOT / source).read_text(encoding="utf-8")):
        yield posixpath.normpath(posixpath.join(posixpath.dirname(source), path))


def missing_inputs(step, text, inputs):
    needed = set(named_paths(text))
    for file in inputs:
        if file.startswith("scripts/"):
            needed.update(named_paths((ROOT / file).read_text(encoding="utf-8")))
        elif file.endswith(".rs"):
            needed.update(embedded_paths(file))
    needed -= set(NAMED_ONLY.get(step, ()))
    return sorted(path for path in needed if not any(file == path or file.startswith(path + "/") for file in inputs))


class Inputs(unittest.TestCase):
    def test_what_a_step_reads_is_among_its_inputs(self):
        steps = STEP.findall(RUN.read_text(encoding="utf-8"))
        self.assertGreater(len(steps), 15)
        inputs = inputs_by_step()
        for step, text in steps:
            with self.subTest(step=step):
                self.assertEqual(missing_inputs(step, text, inputs[step]), [])

    def test_a_file_that_is_not_among_the_inputs_is_found(self):
        inputs = inputs_by_step()["book"]
        self.assertEqual(missing_inputs("book", "scripts/book.sh", inputs), [])
        self.assertEqual(missing_inputs("book", "scripts/deny.sh --now", inputs), ["scripts/deny.sh"])
        self.assertEqual(missing_inputs("book", "", ["crates/dsrs-page/src/graph/list.rs"])[0], "examples/graphs/capital.json")

    def test_the_image_is_built_from_all_that_sources_embed(self):
        lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
        sent = [line[1:] for line in lines if line.startswith("!")]
        listed = subprocess.check_output(["git", "ls-files", "src", "crates"], text=True, cwd=ROOT).split()
        embedded = {path for source in listed if re.match(r"(src|crates/[\w-]+/src)/.*\.rs$", source) for path in embedded_paths(source)}
        self.assertGreater(len(embedded), 3)
        lacking = [path for path in sorted(embedded) if not any(path.startswith(f"{place}/") for place in sent)]
        self.assertEqual(lacking, [])


if __name__ == "__main__":
    unittest.main()
