"""The command line, with the options and exit codes of `dsrs-server` (docs/cli.md). Knows no program."""

from __future__ import annotations

import argparse
import sys

from .program_file import target_of
from .push_command import push_file, say
from .watch import Watch


def main(given: list[str]) -> int:
    """Runs a command and returns its exit code."""
    arguments = _parser().parse_args(given)
    if not arguments.watch:
        try:
            return push_file(arguments)
        except KeyboardInterrupt:
            return 130
    return Watch(target_of(arguments.target).file, [each for each in given if each != "--watch"], say).run()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m dsrs_client.dspy", description="DSPy programs as stored graphs")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    push = commands.add_parser("push", help="push the program of a Python file", allow_abbrev=False)
    push.add_argument(
        "target", metavar="FILE[:NAME]", help="a file, and a program in it, its class, or a function that makes one"
    )
    push.add_argument("--name", metavar="GRAPH", help="the graph [default: after NAME, or the file]")
    push.add_argument("--description", metavar="TEXT", help="the description of the graph")
    push.add_argument("--strict", action="store_true", help="refuse what would change the meaning of the program")
    push.add_argument("--watch", action="store_true", help="push again whenever the file or a module beside it changes")
    push.add_argument("--server", metavar="URL", help="the server [env: DSRS_URL]; the key is in DSRS_API_KEY")
    push.add_argument("--json", action="store_true", help="print JSON")
    push.add_argument("--report", help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
