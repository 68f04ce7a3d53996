#!/usr/bin/env python3
"""Writes the notices of third parties: which crates the server contains, and the texts of their licences.

    python3 scripts/notices.py [--features genai] > THIRD-PARTY-NOTICES.txt

The Docker image contains the file. Reads what `cargo metadata` names; a crate without a licence text is listed with
its licence expression, and one without both is an error.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SERVER = "dsrs-server"
TEXT_FILE = re.compile(r"(un)?licen[cs]e|copying|copyright|notice", re.IGNORECASE)
# Sources of other languages that a crate brings are one directory down.
DEPTH = 2


def metadata(features):
    host = re.search(r"^host: (.*)$", subprocess.check_output(["rustc", "-vV"], text=True), re.M).group(1)
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", host]
    return json.loads(subprocess.check_output([*command, "--features", features], cwd=ROOT))


def shipped(data):
    """The packages that the server is linked from: without those of tests and build scripts."""
    nodes = {node["id"]: node for node in data["resolve"]["nodes"]}
    names = {package["id"]: package["name"] for package in data["packages"]}
    members = set(data["workspace_members"])
    waiting = [member for member in members if names[member] == SERVER]
    found = set()
    while waiting:
        package = waiting.pop()
        if package in found:
            continue
        found.add(package)
        for dependency in nodes[package]["deps"]:
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                waiting.append(dependency["pkg"])
    packages = [package for package in data["packages"] if package["id"] in found - members]
    return sorted(packages, key=lambda package: (package["name"], package["version"]))


def texts(package):
    directory = pathlib.Path(package["manifest_path"]).parent
    files = [file for pattern in ("*", "*/*")[:DEPTH] for file in directory.glob(pattern)]
    named = sorted(file for file in files if file.is_file() and TEXT_FILE.match(file.name) and file.suffix not in (".rs", ".py"))
    return [file.read_text(encoding="utf-8", errors="replace").strip() for file in named]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--features", default="")
    packages = shipped(metadata(parser.parse_args().features))
    users = {}
    print("dsrs-server contains these crates. The texts of their licences follow.\n")
    for package in packages:
        name = "%s %s" % (package["name"], package["version"])
        licence = package["license"] or package["license_file"]
        if not licence:
            sys.exit("notices: %s names no licence" % name)
        print("%s: %s%s" % (name, licence, ", " + package["repository"] if package["repository"] else ""))
        for text in texts(package):
            # Many crates have the same text with other line breaks.
            users.setdefault(" ".join(text.split()), (text, []))[1].append(name)
    for text, names in users.values():
        print("\n%s\n%s\n\n%s" % ("-" * 80, ", ".join(names), text))


if __name__ == "__main__":
    main()
