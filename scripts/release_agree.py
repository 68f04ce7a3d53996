#!/usr/bin/env python3
"""Checks that a release is named the same everywhere, and prints its version.

    scripts/release_agree.py             for a release: the tag of this commit, Cargo.toml and CHANGELOG.md agree
    scripts/release_agree.py --dry-run   before one: the version and the changelog can be read; an existing tag must agree
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def sections(changelog):
    """The headings of a changelog with whether there is anything below them.

    >>> sections("# Changelog\\n\\n## [Unreleased]\\n\\n## [1.2.0] - 2026-01-31\\n\\n- A thing\\n")
    [('Unreleased', None, False), ('1.2.0', '2026-01-31', True)]
    """
    parts = re.split(r"^## ", changelog, flags=re.MULTILINE)[1:]
    found = []
    for part in parts:
        heading, _, body = part.partition("\n")
        match = re.fullmatch(r"\[([^\]]+)\](?: - (\d{4}-\d\d-\d\d))?", heading.strip())
        if not match:
            raise SystemExit("CHANGELOG.md: `## %s` is neither `## [Unreleased]` nor `## [1.2.3] - 2026-01-31`" % heading)
        found.append((match.group(1), match.group(2), bool(re.search(r"^- ", body, re.MULTILINE))))
    return found


def disagreements(version, tags, changelog):
    """What keeps this commit from being the release of the version.

    >>> text = "## [Unreleased]\\n\\n## [1.2.0] - 2026-01-31\\n\\n- A thing\\n"
    >>> disagreements("1.2.0", ["v1.2.0"], text)
    []
    >>> disagreements("1.2.0", ["v1.3.0"], text)
    ['the tag v1.3.0 is not v1.2.0, the version in Cargo.toml']
    >>> disagreements("1.3.0", ["v1.3.0"], text)
    ['CHANGELOG.md has no section [1.3.0] with a date and entries right after [Unreleased]']
    >>> disagreements("1.2.0", [], "## [1.2.0] - 2026-01-31\\n\\n- A thing\\n")
    ['this commit has no tag v1.2.0']
    >>> disagreements("1.2.0", ["v1.2.0"], "## [Unreleased]\\n\\n- Not yet\\n\\n" + text[17:])
    ['CHANGELOG.md has entries in [Unreleased]: move them into the release']
    """
    found = [] if "v" + version in tags else ["this commit has no tag v%s" % version]
    others = [tag for tag in tags if re.fullmatch(r"v\d+\.\d+\.\d+.*", tag) and tag != "v" + version]
    if others:
        found = ["the tag %s is not v%s, the version in Cargo.toml" % (tag, version) for tag in others]
    read = sections(changelog)
    if read and read[0][0] == "Unreleased" and read[0][2]:
        found.append("CHANGELOG.md has entries in [Unreleased]: move them into the release")
    released = [section for section in read if section[0] != "Unreleased"]
    if not released or released[0][0] != version or not released[0][1] or not released[0][2]:
        found.append("CHANGELOG.md has no section [%s] with a date and entries right after [Unreleased]" % version)
    return found


def cargo_version():
    text = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    return re.search(r'^version = "([^"]+)"', text, re.MULTILINE).group(1)


def tags_here():
    done = subprocess.run(["git", "tag", "--points-at", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.split()


def main():
    version, tags = cargo_version(), tags_here()
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    found = disagreements(version, tags, changelog)
    if sys.argv[1:] == ["--dry-run"] and not tags:
        for what in found:
            print("release: not a release yet: %s" % what, file=sys.stderr)
        found = []
    if found:
        raise SystemExit("release: " + "\nrelease: ".join(found))
    print(version)


if __name__ == "__main__":
    main()
