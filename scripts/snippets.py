#!/usr/bin/env python3
"""Runs the snippets of the README and of docs/ against a server with a stand-in for a language model.

    scripts/snippets.sh [PAGE ...]

Each page has a workspace, a directory and a shell of its own; its snippets run in their order. By the language of a fence:

    sh, bash    run; an exit code above 0 or an answer from 400 is a failure
    toml        settings: `dsrs-server config check` accepts them
    json        a graph (it has `nodes`) is checked by the server; anything else is JSON; after a shell snippet, its output
    python      run by the tests that ELSEWHERE names
    rust        run by the tests that ELSEWHERE names
    others      shown, not run

Words after the language change that: `no-run REASON` is not run; `refused` contains a request that is answered by a problem;
`fails` ends with an exit code above 0; `shown` is a part of a document; `from=FILE` is an excerpt of the file; settings that
are a `part` are checked together with the other parts of their page. A comment `<!-- setup` runs like a snippet and is not
shown. The output of a snippet of a page in COMPARED is what the page shows after it.
"""

import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
SERVER_OF_PAGES = "http://127.0.0.1:8080"
PAGE_SECONDS = 180
# Snippets that another test runs, by page.
ELSEWHERE = {
    "docs/dspy.md": "clients/python/tests/dspy/test_docs.py",
    "docs/tutorials/dspy-program.md": "clients/python/tests/dspy/test_docs.py",
    "docs/rust.md": "examples/rust and the doc tests of crates/dsrs",
    "docs/metrics.md": "crates/dsrs/tests/graph/metrics/guide.rs",
    "docs/strategies.md": "tests/it/shows/strategies.rs",
    "docs/parsing.md": "crates/dsrs/tests/parsing/corpus.rs",
}
# Pages whose outputs are compared with what the snippets print.
COMPARED = ("README.md", "docs/tutorials/support-desk.md")
FENCE = re.compile(r"^( *)```([a-z]+)?([^\n`]*)\n(.*?)^\1```", re.DOTALL | re.MULTILINE)
SETUP = re.compile(r"^<!-- setup\n(.*?)^-->", re.DOTALL | re.MULTILINE)

CURL = r'''#!/usr/bin/env bash
# curl of the snippets: the address of the pages becomes that of the server, and the key of the page is sent.
headers=$(mktemp)
arguments=()
key=yes
address=
for argument in "$@"; do
  argument=${argument//http:\/\/127.0.0.1:8080/$DSRS_URL}
  case "$argument" in
    localhost:8080*) argument=$DSRS_URL${argument#localhost:8080} ;;
    [Aa]uthorization:*) key=no ;;
  esac
  case "$argument" in http://*|https://*) address=$argument ;; esac
  arguments+=("$argument")
done
[ "$key" = no ] || arguments+=(-H "Authorization: Bearer $DSRS_API_KEY")
"$REAL_CURL" "${arguments[@]}" -D "$headers"
code=$?
printf '%s %s\n' "$(awk '/^HTTP/ { status = $2 } END { print status }' "$headers")" "$address" >>"$SNIPPET_REQUESTS"
rm -f "$headers"
exit "$code"
'''
PROGRAM = '#!/bin/sh\nexec "$DSRS_BINARY" "$@"\n'


class Snippet:
    """A fence of a page, or a comment that prepares one."""

    def __init__(self, page, line, language, words, text):
        self.page, self.line, self.language, self.words, self.text = page, line, language, words.split(), text
        self.failure = self.printed = None

    @property
    def place(self):
        return "%s:%d" % (self.page, self.line)

    def says(self, word):
        return word in self.words

    @property
    def reason(self):
        """Why it is not run, if it says so."""
        if not self.says("no-run"):
            return None
        return " ".join(self.words[self.words.index("no-run") + 1:]) or "no reason"


def snippets_of(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    found = []
    for match in FENCE.finditer(text):
        indent = len(match.group(1))
        body = "\n".join(line[indent:] for line in match.group(4).split("\n"))
        found.append((match.start(), match.group(2) or "", match.group(3), body))
    found += [(match.start(), "sh", "setup", match.group(1)) for match in SETUP.finditer(text)]
    return [Snippet(page, text.count("\n", 0, at) + 1, *rest) for at, *rest in sorted(found)]


def call(method, path, body, key=None):
    request = urllib.request.Request(os.environ["DSRS_URL"] + path, json.dumps(body).encode(), method=method)
    request.add_header("Content-Type", "application/json")
    request.add_header("Authorization", "Bearer " + (key or os.environ["DSRS_API_KEY"]))
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


@functools.cache
def key_of(page):
    """A key of a workspace of its own: pages use the same names."""
    name = "page-" + re.sub(r"[^a-z0-9]+", "-", page.lower()).strip("-")
    call("POST", "/v1/workspaces", {"name": name})
    return call("POST", "/v1/keys", {"name": "snippets", "scopes": ["admin"], "workspace": name})["key"]


def shell_script(snippets, directory):
    """One script for the page: variables and functions of a snippet are there in the next one."""
    lines = []
    for number, snippet in enumerate(snippets):
        (directory / ("snippet-%d.sh" % number)).write_text(snippet.text, encoding="utf-8")
        lines += [
            "export SNIPPET_REQUESTS=%s/requests-%d" % (directory, number),
            ": >$SNIPPET_REQUESTS",
            "{ . %s/snippet-%d.sh; } >%s/out-%d 2>%s/err-%d" % ((directory, number) * 3),
            "echo $? >%s/code-%d" % (directory, number),
        ]
    return "\n".join(lines) + "\n"


def judge(snippet, number, directory):
    """What is wrong with a shell snippet that has run."""
    code_file = directory / ("code-%d" % number)
    said = ""
    for file in ("out", "err"):
        output = directory / ("%s-%d" % (file, number))
        text = output.read_text(encoding="utf-8", errors="replace") if output.exists() else ""
        said += text[-1500:]
        snippet.printed = text if file == "out" else snippet.printed
    if not code_file.exists():
        return "did not end\n" + said
    code = int(code_file.read_text())
    requests = [line.split(" ", 1) for line in (directory / ("requests-%d" % number)).read_text().splitlines()]
    refused = ["%s %s" % (status, url) for status, url in requests if not status.isdigit() or int(status) >= 400]
    if (code != 0) != snippet.says("fails"):
        return "exit code %d\n%s" % (code, said)
    if bool(refused) != snippet.says("refused"):
        return "answers: %s\n%s" % ("; ".join(refused) or "no request was refused", said)
    return None


def run_shell(page, snippets):
    directory = pathlib.Path(tempfile.mkdtemp(prefix="dsrs-snippets-"))
    try:
        programs, work = directory / "bin", directory / "work"
        programs.mkdir(), work.mkdir()
        for name, text in [("curl", CURL), ("dsrs-server", PROGRAM)]:
            (programs / name).write_text(text)
            (programs / name).chmod(0o755)
        shutil.copytree(ROOT / "examples", work / "examples")
        script = directory / "page.sh"
        script.write_text(shell_script(snippets, directory))
        environment = dict(os.environ, PATH="%s:%s" % (programs, os.environ["PATH"]), REAL_CURL=shutil.which("curl"),
                           DSRS_API_KEY=key_of(page), HOME=str(directory))
        process = subprocess.Popen(["bash", str(script)], cwd=work, env=environment, stdin=subprocess.DEVNULL,
                                   start_new_session=True)
        try:
            process.wait(PAGE_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
        for number, snippet in enumerate(snippets):
            snippet.failure = judge(snippet, number, directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def check_settings(snippet, snippets):
    parts = [part.text for part in snippets if part.language == "toml" and part.says("part")]
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write("\n".join(parts) if snippet.says("part") else snippet.text)
        file.flush()
        # Settings name variables with keys; here each holds some text.
        named = re.findall(r'api_key_env = "(\w+)"', snippet.text) + re.findall(r"\$\{(\w+)\}", snippet.text)
        keys = {name: "key-of-the-snippets" for name in named}
        keys |= {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "DSRS_API_KEYS": "key-of-the-snippets"}
        command = [os.environ["DSRS_BINARY"], "config", "check", "--config", file.name]
        done = subprocess.run(command, env=keys, capture_output=True, text=True, timeout=60)
        if "was built without" in done.stderr:
            print("  not run  %s: this build has no such provider" % snippet.place)
            return "not run"
        snippet.failure = None if done.returncode == 0 else done.stderr or done.stdout
        return "run"


def check_json(snippet, before):
    """Says what became of it: a graph is sent to the server."""
    if before and before.language in ("sh", "bash") or snippet.says("shown") or "…" in snippet.text:
        return check_output(snippet, before)
    try:
        value = json.loads(snippet.text)
    except ValueError as error:
        snippet.failure = str(error)
        return "run"
    if isinstance(value, dict) and "nodes" in value:
        try:
            call("POST", "/v1/graphs/validate", value, key_of(snippet.page))
        except urllib.error.HTTPError as error:
            snippet.failure = error.read().decode()
    return "run"


def check_output(snippet, before):
    """Compares an output that the page shows with what its snippet printed."""
    if snippet.page not in COMPARED or before is None or before.printed is None:
        return "shown"
    if before.printed.strip() != snippet.text.strip():
        snippet.failure = "this was printed:\n" + before.printed
    return "compared"


def check_excerpt(snippet):
    """An excerpt is in the file that it names, which other tests run."""
    file = next(word[len("from="):] for word in snippet.words if word.startswith("from="))
    if snippet.text.rstrip() not in (ROOT / file).read_text(encoding="utf-8"):
        snippet.failure = "%s does not contain this" % file
    return "compared"


def run_page(page, counts):
    snippets = snippets_of(page)
    shell = [s for s in snippets if s.language in ("sh", "bash") and s.reason is None]
    if shell and page not in ELSEWHERE:
        run_shell(page, shell)
    before = None
    for snippet in snippets:
        if snippet.reason is not None:
            outcome = "not run"
            print("  not run  %s: %s" % (snippet.place, snippet.reason))
        elif page in ELSEWHERE and snippet.language in ("rust", "python", "json", "sh", "text"):
            outcome = "run elsewhere"
        elif snippet.language in ("sh", "bash"):
            outcome = "run"
        elif snippet.language == "toml":
            outcome = check_settings(snippet, snippets)
        elif snippet.language == "json":
            outcome = check_json(snippet, before)
        elif any(word.startswith("from=") for word in snippet.words):
            outcome = check_excerpt(snippet)
        elif snippet.language in ("python", "rust"):
            snippet.failure = "no test runs it: mark it `no-run REASON`, or name the test in ELSEWHERE"
            outcome = "run"
        else:
            outcome = check_output(snippet, before) if snippet.language == "text" else "shown"
        counts[outcome] = counts.get(outcome, 0) + 1
        # An output follows its snippet directly.
        before = snippet
    return [snippet for snippet in snippets if snippet.failure]


def main():
    pages = sys.argv[1:] or ["README.md", *sorted("docs/" + p.name for p in (ROOT / "docs").glob("*.md")),
                             *sorted(str(p.relative_to(ROOT)) for p in (ROOT / "docs").glob("*/*.md"))]
    counts, failed = {}, []
    for page in pages:
        failed += run_page(page, counts)
    for snippet in failed:
        print("FAILED %s\n%s\n" % (snippet.place, snippet.failure), file=sys.stderr)
    total = ", ".join("%d %s" % (counts[name], name) for name in sorted(counts))
    print("snippets of %d pages: %s; %d failed" % (len(pages), total, len(failed)))
    return 1 if failed or not counts.get("run") else 0


if __name__ == "__main__":
    sys.exit(main())
