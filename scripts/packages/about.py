"""What the packages say about the server: its name, version, licence, texts and addresses. Knows no package format."""

import collections
import json
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAME = "dsrs-server"

About = collections.namedtuple("About", "version description license repository readme license_text notices bill")


def with_addresses(text, repository, version):
    """A page whose links work outside the repository.

    >>> print(with_addresses("[a](docs/a.md#b) ![c](docs/c.png) [d](#d) [e](http://e/)", "http://repo", "1.2.0"))
    [a](http://repo/blob/v1.2.0/docs/a.md#b) ![c](http://repo/raw/v1.2.0/docs/c.png) [d](#d) [e](http://e/)
    """
    def address(match):
        kind = "raw" if match.group(1) else "blob"
        return "%s[%s](%s/%s/v%s/%s)" % (match.group(1), match.group(2), repository, kind, version, match.group(3))
    return re.sub(r"(!?)\[([^\]]*)\]\((?!#|[a-z]+:)([^)]+)\)", address, text)


def about(notices, bill):
    """Reads Cargo.toml, the README and the licence; the notices and the bill of materials are files of the release."""
    listed = subprocess.check_output(["cargo", "metadata", "--format-version", "1", "--no-deps", "--locked"], cwd=ROOT)
    server = next(package for package in json.loads(listed)["packages"] if package["name"] == NAME)
    readme = (ROOT / server["readme"]).read_text(encoding="utf-8")
    return About(
        version=server["version"], description=server["description"], license=server["license"], repository=server["repository"],
        readme=with_addresses(readme, server["repository"], server["version"]),
        license_text=(ROOT / "LICENSE").read_bytes(), notices=notices.read_bytes(), bill=bill.read_bytes())
