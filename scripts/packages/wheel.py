"""A Python wheel that installs the server as the command `dsrs-server`. Contains no Python."""

import base64
import hashlib
import re
import time
import zipfile

from about import NAME

# ZIP has no earlier time.
EARLIEST = 315532800
PRE_RELEASES = {"alpha": "a", "beta": "b", "rc": "rc"}
METADATA = """\
Metadata-Version: 2.4
Name: {name}
Version: {version}
Summary: {about.description}
License-Expression: {about.license}
License-File: LICENSE
License-File: THIRD-PARTY-NOTICES.txt
Keywords: llm,prompts,dspy,agents,optimization,server
Classifier: Environment :: Console
Classifier: Intended Audience :: Developers
Classifier: Operating System :: MacOS
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Rust
Classifier: Topic :: Scientific/Engineering :: Artificial Intelligence
Project-URL: Repository, {about.repository}
Project-URL: Documentation, {about.repository}/blob/v{about.version}/docs/SUMMARY.md
Project-URL: Changelog, {about.repository}/blob/v{about.version}/CHANGELOG.md
Project-URL: Issues, {about.repository}/issues
Requires-Python: >=3.8
Description-Content-Type: text/markdown; charset=UTF-8; variant=GFM

{about.readme}"""
WHEEL = """\
Wheel-Version: 1.0
Generator: dsrs-server scripts/packages
Root-Is-Purelib: false
Tag: py3-none-{tag}
"""


def python_version(version):
    """A version as Python writes it.

    >>> python_version("1.2.0"), python_version("1.2.0-rc.1")
    ('1.2.0', '1.2.0rc1')
    """
    release, _, pre = version.partition("-")
    if not pre:
        return release
    kind, _, number = pre.partition(".")
    if kind not in PRE_RELEASES or not number.isdigit():
        raise SystemExit("packages: Python has no version like %s: write -alpha.N, -beta.N or -rc.N" % version)
    return release + PRE_RELEASES[kind] + number


def contents(about, platform, program):
    """The files by name. Installers read the list at the end of the archive: there it is last."""
    stem = "%s-%s" % (NAME.replace("-", "_"), python_version(about.version))
    info = stem + ".dist-info/"
    files = {
        "%s.data/scripts/%s" % (stem, NAME): program,
        info + "METADATA": METADATA.format(name=NAME, version=python_version(about.version), about=about).encode(),
        info + "WHEEL": WHEEL.format(tag=platform.tag).encode(),
        info + "licenses/LICENSE": about.license_text,
        info + "licenses/THIRD-PARTY-NOTICES.txt": about.notices,
        info + "sboms/%s.cdx.json" % NAME: about.bill,
    }
    return files | {info + "RECORD": record(files, info + "RECORD")}


def record(files, own_name):
    lines = ["%s,sha256=%s,%d\n" % (name, digest(data), len(data)) for name, data in files.items()]
    return "".join([*lines, own_name + ",,\n"]).encode()


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def write_wheel(about, platform, program, directory, when, level):
    """Writes the wheel and returns its path. The same arguments give the same bytes."""
    path = directory / ("%s-%s-py3-none-%s.whl" % (NAME.replace("-", "_"), python_version(about.version), platform.tag))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        for name, data in contents(about, platform, program).items():
            entry = zipfile.ZipInfo(name, time.gmtime(max(when, EARLIEST))[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = (0o100755 if re.search(r"\.data/scripts/", name) else 0o100644) << 16
            archive.writestr(entry, data, compresslevel=level)
    return path
