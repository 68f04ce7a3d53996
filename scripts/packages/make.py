#!/usr/bin/env python3
"""Makes the Python wheel and the npm packages of a release from its program, and prints their file names.

    scripts/packages/make.py --program FILE --host TRIPLE --notices FILE --bill FILE --when SECONDS --output DIRECTORY [--level N]

scripts/release.sh runs it. A user of the packages needs no compiler (docs/releasing.md).
"""

import argparse
import pathlib

import about
import npm
import platforms
import wheel


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--program", "--notices", "--bill", "--output"):
        parser.add_argument(name, type=pathlib.Path, required=True)
    parser.add_argument("--host", required=True)
    parser.add_argument("--when", type=int, required=True)
    parser.add_argument("--level", type=int, default=9)
    given = parser.parse_args()
    platform = platforms.platform(given.host, given.program)
    facts, program = about.about(given.notices, given.bill), given.program.read_bytes()
    rest = (facts, platform, program, given.output, given.when, given.level)
    for path in [wheel.write_wheel(*rest), *npm.write_packages(*rest)]:
        print(path.name)


if __name__ == "__main__":
    main()
