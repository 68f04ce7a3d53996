"""The engine alone: `cargo bench -p dsrs`, as Divan prints it. The source of the clone is measured, not a binary."""

import os
import re
import subprocess

from reporting.figures import ROOT, figure
from reporting.tools import Skipped

UNITS = {"ns": 1e-3, "µs": 1.0, "ms": 1e3, "s": 1e6}
# (bench, benchmark, name on the page, the most microseconds)
WANTED = (
    ("engine", "run / one predict", "run of one predict", None),
    ("engine", "run / chain of three", "run of a chain of three", None),
    ("engine", "say_the_question", "writing the user message", None),
    ("engine", "read_the_answer", "reading an answer of two fields", None),
    ("engine", "build_a_chain_of_three", "building and checking a chain of three", None),
    ("engine", "build_a_wide_document / 1000", "building and checking 1,000 nodes", None),
    ("ops", "build_and_check / deep", "1,000 ops in a chain: building and checking", 10_000),
    ("ops", "execute / deep", "1,000 ops in a chain: a run with its trace", 2_000),
    ("typed", "call_with_demos / 0", "typed call without demos", 3),
    ("typed", "call_with_demos / 64", "typed call with 64 demos", 12),
    ("typed", "a_chain_of_ten", "typed chain of ten", 30),
    ("typed", "find_ten_thousand_predictors", "walk of 10,000 predictors", 20_000),
    ("parsing", "a_clean_answer_of_three_fields", "parsing a clean answer of three sections", 3),
    ("parsing", "a_messy_answer_of_a_class", "parsing a messy answer of a class", 25),
    ("parsing", "twenty_thousand_whole_numbers", "parsing 20,000 whole numbers", 4_000),
)


def medians(text):
    """{benchmark: median in microseconds} of the output of Divan; an argument follows after ` / `."""
    found, above = {}, None
    for line in text.splitlines():
        row = re.match(r"^((?:│  |   )?)[├╰]─ (.*)$", line)
        if not row:
            continue
        name, *columns = re.split(r"\s{2,}|\s*│\s*", row.group(2).strip())
        times = re.findall(r"([\d.]+) (ns|µs|ms|s)\b", row.group(2))
        if row.group(1) and above:
            name = above + " / " + name
        elif not times:
            above = name.strip()
        if len(times) >= 3:
            value, unit = times[2]
            found[re.sub(r"\s+[\d.]+ (ns|µs|ms|s)$", "", name).strip()] = float(value) * UNITS[unit]
    return found


def run(bench, quick):
    flags = ["--", "--sample-count", "10"] if quick else []
    command = ["cargo", "bench", "--locked", "-p", "dsrs", "--bench", bench, *flags]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=dict(os.environ, SQLX_OFFLINE="true"))
    if ended.returncode:
        raise Skipped("`%s` failed: %s" % (" ".join(command), ended.stderr[-1000:]))
    return medians(ended.stdout)


def measure(tools):
    if tools.options.no_cargo:
        raise Skipped("--no-cargo")
    benches = sorted({bench for bench, *_ in WANTED})
    once = {bench: lambda bench=bench: run(bench, tools.quick) for bench in benches}
    found = tools.alternating(once, min(tools.rounds, 3))
    figures = [figure(shown, "µs", {"ours": [one[name] for one in found[bench] if name in one]}, most=most)
               for bench, name, shown, most in WANTED]
    return [found for found in figures if found["values"]]
