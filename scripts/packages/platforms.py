"""The platforms that have packages: the tag of a wheel, the name and the fields of an npm package. Knows no package format."""

import collections
import re
import subprocess

Platform = collections.namedtuple("Platform", "os cpu tag glibc")

# By the name of a host that rustc prints; npm's words for the system and the processor, and Python's for the processor.
HOSTS = {
    "x86_64-unknown-linux-gnu": ("linux", "x64", "x86_64"),
    "aarch64-unknown-linux-gnu": ("linux", "arm64", "aarch64"),
    "x86_64-apple-darwin": ("darwin", "x64", "x86_64"),
    "aarch64-apple-darwin": ("darwin", "arm64", "arm64"),
}
NPM_NAMES = ["@dsrs-server/%s-%s" % (system, cpu) for system, cpu, _ in HOSTS.values()]


def newest_glibc(symbols):
    """The glibc that a program needs, from the output of `objdump -T`.

    >>> newest_glibc("0000 DF *UND* (GLIBC_2.9) read\\n0000 DF *UND* (GLIBC_2.34) write\\n0000 DF *UND* (GCC_3.0) _Unwind")
    '2.34'
    """
    minors = [int(minor) for minor in re.findall(r"GLIBC_2\.(\d+)", symbols)]
    if not minors:
        raise SystemExit("packages: the program names no version of glibc: a package for Linux with glibc cannot hold it")
    return "2.%d" % max(minors)


def least_macos(load_commands):
    """The macOS that a program needs, from the output of `otool -l`. From 11 on, tags name the major version alone.

    >>> least_macos("cmd LC_BUILD_VERSION\\n  cmdsize 32\\n platform 1\\n    minos 11.3\\n      sdk 14.2\\n")
    '11_0'
    >>> least_macos("cmd LC_VERSION_MIN_MACOSX\\n  cmdsize 16\\n  version 10.12\\n  sdk 14.2\\n")
    '10_12'
    """
    found = re.search(r"LC_BUILD_VERSION.*?minos (\d+)\.(\d+)|LC_VERSION_MIN_MACOSX.*?version (\d+)\.(\d+)", load_commands, re.DOTALL)
    if not found:
        raise SystemExit("packages: `otool -l` names no version of macOS that the program needs")
    major, minor = (int(part) for part in found.groups() if part is not None)
    return "%d_%d" % (major, 0 if major >= 11 else minor)


def output_of(*command):
    try:
        return subprocess.check_output(command, text=True)
    except OSError as error:
        raise SystemExit("packages: %s cannot be run (%s): install the tools of a C compiler" % (command[0], error.strerror)) from None


def platform(host, program):
    """The platform of a program that was built for a host."""
    if host not in HOSTS:
        raise SystemExit("packages: there are none for %s, only for %s" % (host, ", ".join(HOSTS)))
    system, cpu, machine = HOSTS[host]
    if system == "darwin":
        return Platform(system, cpu, "macosx_%s_%s" % (least_macos(output_of("otool", "-l", program)), machine), None)
    glibc = newest_glibc(output_of("objdump", "-T", program))
    return Platform(system, cpu, "manylinux_%s_%s" % (glibc.replace(".", "_"), machine), glibc)
