"""npm packages that install the server as the command `dsrs-server`: one with the launcher, one with the program of a platform."""

import gzip
import io
import json
import pathlib
import tarfile

from about import NAME
from platforms import NPM_NAMES

LAUNCHER = pathlib.Path(__file__).with_name("launcher.sh")


def common(about, name):
    return {
        "name": name, "version": about.version, "description": about.description, "license": about.license,
        "keywords": ["llm", "prompts", "dspy", "agents", "optimization", "server"],
        "homepage": about.repository + "#readme", "bugs": about.repository + "/issues",
        "repository": {"type": "git", "url": "git+%s.git" % about.repository},
    }


def launcher_package(about):
    """The package that users name. It is the same on every platform, so that the first one that is published fits all."""
    fields = common(about, NAME) | {
        "bin": {NAME: "bin/" + NAME}, "os": ["darwin", "linux"],
        "optionalDependencies": dict.fromkeys(NPM_NAMES, about.version)}
    launcher = LAUNCHER.read_text(encoding="utf-8").replace("@REPOSITORY@", about.repository)
    return fields, {"bin/" + NAME: launcher.encode(), "README.md": about.readme.encode(), "LICENSE": about.license_text}


def platform_package(about, platform, program):
    """The package that npm chooses by the platform."""
    name = "@%s/%s-%s" % (NAME, platform.os, platform.cpu)
    fields = common(about, name) | {"os": [platform.os], "cpu": [platform.cpu], "preferUnplugged": True}
    readme = "# %s\n\nThe program of [%s](%s) for one platform. Install `%s`, which chooses it.\n" % (name, NAME, about.repository, NAME)
    files = {"bin/" + NAME: program, "README.md": readme.encode(), "LICENSE": about.license_text,
             "THIRD-PARTY-NOTICES.txt": about.notices, NAME + ".cdx.json": about.bill}
    if platform.glibc:
        fields["libc"] = ["glibc"]
        # npm knows no versions of glibc: the launcher reads this one.
        files["glibc-version"] = (platform.glibc + "\n").encode()
    return fields, files


def write_package(fields, files, directory, when, level):
    """Writes one package, with the name that `npm pack` would give it, and returns its path."""
    path = directory / ("%s-%s.tgz" % (fields["name"].lstrip("@").replace("/", "-"), fields["version"]))
    files = {"package.json": (json.dumps(fields, indent=2) + "\n").encode()} | files
    with open(path, "wb") as file, gzip.GzipFile("", "wb", level, file, mtime=0) as packed, \
            tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo("package/" + name)
            entry.size, entry.mtime, entry.mode = len(data), when, 0o755 if name.startswith("bin/") else 0o644
            archive.addfile(entry, io.BytesIO(data))
    return path


def write_packages(about, platform, program, directory, when, level):
    """Writes both packages and returns their paths. The same arguments give the same bytes."""
    both = [platform_package(about, platform, program), launcher_package(about)]
    return [write_package(fields, files, directory, when, level) for fields, files in both]
