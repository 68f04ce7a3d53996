#!/usr/bin/env python3
"""Every figure of README and docs/performance.md, measured side by side: this build, a build before, the forwarder, peers.

    python3 bench/report.py --server NEW --before OLD              measures everything and prints it; about an hour
    python3 bench/report.py --server NEW --before OLD --write      and writes bench/results.json and the pages
    python3 bench/report.py --server NEW --only executions         one section; repeatable
    python3 bench/report.py --server NEW --quick                   whether every section works; the figures say little
    python3 bench/report.py --pages                                writes the pages again from bench/results.json

Each round waits until the rest of the machine uses less than --other-load processors, for --patience seconds; a section
whose rounds did not find that says so. The order of programs alternates. --write replaces the sections that were measured,
and adds what they replace to docs/performance-history.md. What is missing for a section (a module, a package, a program) is
printed, and the section is left as it was. Linux only; wrk, psql and pg_dump must be there.
"""

import argparse
import pathlib
import shlex
import shutil
import sys
import traceback

sys.dont_write_bytecode = True
import sections  # noqa: E402
from reporting import render  # noqa: E402
from reporting.pages import Book  # noqa: E402
from reporting.tools import Skipped, Tools, commit, machine, today  # noqa: E402


def command_of(name, options):
    words = ["python3", "bench/report.py", "--server", "NEW"] + (["--before", "OLD"] if options.before else [])
    return shlex.join(words + ["--only", name])


def measured(name, tools, options):
    """The section as results.json has it."""
    figures = sections.measure(name, tools)
    quiet = tools.quiet.summary()
    found = {"commit": options.commit or commit(), "date": today(), "machine": machine(), "command": command_of(name, options),
             "rounds": tools.rounds, "figures": figures}
    if any("before" in figure["values"] for figure in figures) and options.before_commit:
        found["before"] = options.before_commit
    if quiet is not True:
        found["beside"] = quiet
    return found


def attempt(name, tools, options):
    """(section, None), or (None, why not)."""
    try:
        return measured(name, tools, options), None
    except Skipped as reason:
        return None, "skipped: %s" % reason
    except (Exception, SystemExit) as error:
        traceback.print_exc()
        return None, "FAILED: %s" % error


def report(options):
    tools, book, problems = Tools(options), Book(), []
    for name in options.only or sections.NAMES:
        print("\n## %s\n" % name, flush=True)
        found, problem = attempt(name, tools, options)
        if problem:
            print(problem, flush=True)
            problems.append("%s: %s" % (name, problem))
            continue
        print(render.section(found), flush=True)
        if options.write:
            book.write({name: found})
    by_hand = [name for name in sections.BY_HAND if name in book.results]
    print("\nBy hand, with the commands in bench/results.json: %s" % ", ".join(by_hand))
    print("\n".join(problems))
    return 1 if any(": FAILED" in problem for problem in problems) else 0


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", help="the binary to measure")
    parser.add_argument("--before", help="the binary to compare with")
    parser.add_argument("--commit", help="of --server; the commit of the clone unless given")
    parser.add_argument("--before-commit", help="of --before, for the pages")
    parser.add_argument("--only", action="append", choices=sections.NAMES, metavar="SECTION", help=", ".join(sections.NAMES))
    parser.add_argument("--rounds", type=int, help="5 unless given; sections of long rounds have at most 3")
    parser.add_argument("--quick", action="store_true", help="one short round, without waiting; never written")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--pages", action="store_true", help="measure nothing, write the pages")
    parser.add_argument("--other-load", type=float, default=0.15, help="processors that others may use when a round begins")
    parser.add_argument("--patience", type=float, default=60, help="seconds to wait for that")
    parser.add_argument("--fakelm", help="the stand-in LM, built; else FAKELM_DIR is built")
    parser.add_argument("--forwarder", help="bench/forwarder, built; else it is built")
    parser.add_argument("--restate", help="the server of Restate: background runs are measured with it, too")
    parser.add_argument("--peers", default=sys.executable, help="a Python with the packages of peers")
    parser.add_argument("--no-cargo", action="store_true", help="leave out what compiles the engine")
    return parser


def main():
    parser = arguments()
    options = parser.parse_args()
    if options.pages:
        Book().write()
        return 0
    if not options.server:
        parser.error("--server names the binary to measure")
    if options.quick and options.write:
        parser.error("figures of --quick say little: they are not written")
    for program in ("wrk", "psql", "pg_dump"):
        if not shutil.which(program):
            parser.error("%s is missing" % program)
    for binary in (options.server, options.before):
        if binary and not pathlib.Path(binary).is_file():
            parser.error("no program at %s" % binary)
    return report(options)


if __name__ == "__main__":
    sys.exit(main())
