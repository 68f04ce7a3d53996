#!/usr/bin/env python3
"""Writes the bill of materials of the server as CycloneDX 1.5 in JSON.

    python3 scripts/sbom.py [--features F] [--binary FILE] > dsrs-server.cdx.json

It lists the crates that the server is linked from, as the notices do (scripts/notices.py): without those of tests and build
scripts. Checksums are those of Cargo.lock, SHA-256 of the packages of the registry.
"""

import argparse
import hashlib
import json
import pathlib
import re
import urllib.parse
import uuid

import notices

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = re.compile(r'\[\[package\]\]\nname = "([^"]+)"\nversion = "([^"]+)"\n(?:source = "[^"]+"\n)?(?:checksum = "([0-9a-f]{64})")?')


def checksums():
    text = (ROOT / "Cargo.lock").read_text(encoding="utf-8")
    return {(name, version): digest for name, version, digest in PACKAGE.findall(text) if digest}


def address(package):
    return "pkg:cargo/%s@%s" % (package["name"], urllib.parse.quote(package["version"]))


def component(package, digests):
    found = {"type": "library", "bom-ref": address(package), "name": package["name"], "version": package["version"],
             "purl": address(package), "scope": "required"}
    if package.get("license"):
        # Cargo's old notation for "or" is a slash.
        found["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    digest = digests.get((package["name"], package["version"]))
    if digest:
        found["hashes"] = [{"alg": "SHA-256", "content": digest}]
    if package.get("repository"):
        found["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return found


def dependencies(data, packages):
    refs = {package["id"]: address(package) for package in packages}
    nodes = {node["id"]: node for node in data["resolve"]["nodes"]}
    return [{"ref": ref, "dependsOn": sorted({refs[dep["pkg"]] for dep in nodes[package]["deps"] if dep["pkg"] in refs
                                              and any(kind["kind"] is None for kind in dep["dep_kinds"])})}
            for package, ref in sorted(refs.items(), key=lambda pair: pair[1])]


def bill(features, binary):
    data = notices.metadata(features)
    crates = notices.shipped(data)
    members = [package for package in data["packages"] if package["id"] in set(data["workspace_members"])]
    server = next(package for package in members if package["name"] == notices.SERVER)
    main = component(server, {}) | {"type": "application"}
    if binary:
        main["hashes"] = [{"alg": "SHA-256", "content": hashlib.sha256(binary.read_bytes()).hexdigest()}]
    digests = checksums()
    components = [component(package, digests) for package in crates]
    # The same content has the same number.
    number = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps([main, components], sort_keys=True))
    return {"bomFormat": "CycloneDX", "specVersion": "1.5", "serialNumber": "urn:uuid:%s" % number, "version": 1,
            "metadata": {"component": main}, "components": components,
            "dependencies": dependencies(data, [server, *crates])}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--features", default="")
    parser.add_argument("--binary", type=pathlib.Path)
    arguments = parser.parse_args()
    print(json.dumps(bill(arguments.features, arguments.binary), indent=1))


if __name__ == "__main__":
    main()
