#!/usr/bin/env python3
"""Tests of the packages with a small program instead of the server: python3 scripts/packages/test_packages.py"""

import base64
import csv
import hashlib
import io
import json
import os
import pathlib
import platform
import signal
import subprocess
import tarfile
import tempfile
import unittest
import zipfile

import about
import npm
import platforms
import wheel

ROOT = about.ROOT
WHEN = 1700000000
# Ends with code 7 at SIGTERM, else with the code of its argument.
PROGRAM = b"""#!/bin/sh
[ "$1" != --version ] || { echo "dsrs-server 1.2.0"; exit; }
[ "$1" != wait ] || { sleep 600 & trap "kill $!; exit 7" TERM; echo ready; wait; }
exit "$1"
"""
ABOUT = about.About("1.2.0", "A server", "Apache-2.0", "http://repo", "# Read {me}\n", b"licence", b"notices", b"{}")
SYSTEM = {"Linux": "linux", "Darwin": "darwin"}[platform.system()]
CPU = {"x86_64": "x64", "aarch64": "arm64", "arm64": "arm64"}[platform.machine()]


def here(glibc="2.17"):
    return platforms.Platform(SYSTEM, CPU, "manylinux_2_17_x86_64", glibc)


class Scratch(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.place = pathlib.Path(scratch.name).resolve()

    def directory(self, name):
        (self.place / name).mkdir()
        return self.place / name


class WheelTest(Scratch):
    def test_the_same_program_gives_the_same_bytes(self):
        made = [wheel.write_wheel(ABOUT, here(), PROGRAM, self.directory(name), WHEN, 9) for name in ("a", "b")]
        self.assertEqual(made[0].name, "dsrs_server-1.2.0-py3-none-manylinux_2_17_x86_64.whl")
        self.assertEqual(made[0].read_bytes(), made[1].read_bytes())

    def test_the_record_names_each_file_with_its_checksum(self):
        with zipfile.ZipFile(wheel.write_wheel(ABOUT, here(), PROGRAM, self.place, WHEN, 1)) as archive:
            record = archive.read("dsrs_server-1.2.0.dist-info/RECORD").decode()
            rows = {name: (checksum, size) for name, checksum, size in csv.reader(io.StringIO(record))}
            self.assertEqual(set(rows), set(archive.namelist()))
            for name, (checksum, size) in rows.items():
                if checksum:
                    digest = hashlib.sha256(archive.read(name)).digest()
                    self.assertEqual(checksum, "sha256=" + base64.urlsafe_b64encode(digest).decode().rstrip("="))
                    self.assertEqual(int(size), archive.getinfo(name).file_size)
            self.assertIn("dsrs_server-1.2.0.dist-info/licenses/THIRD-PARTY-NOTICES.txt", rows)
            self.assertTrue(archive.read("dsrs_server-1.2.0.dist-info/METADATA").decode().endswith("\n\n# Read {me}\n"))
            program = archive.getinfo("dsrs_server-1.2.0.data/scripts/dsrs-server")
            self.assertEqual(program.external_attr >> 16, 0o100755)

    def test_a_host_without_packages_is_named(self):
        with self.assertRaisesRegex(SystemExit, "there are none for riscv64gc-unknown-linux-gnu, only for x86_64-"):
            platforms.platform("riscv64gc-unknown-linux-gnu", "program")


class NpmTest(Scratch):
    def install(self, glibc="2.17", with_program=True):
        """What npm makes of the packages: directories below node_modules, and a link to the launcher."""
        modules = self.directory("node_modules")
        made = npm.write_packages(ABOUT, here(glibc), PROGRAM, self.place, WHEN, 1)
        for path, name in zip(made, ("@dsrs-server/%s-%s" % (SYSTEM, CPU), "dsrs-server")):
            if name != "dsrs-server" and not with_program:
                continue
            with tarfile.open(path) as archive:
                archive.extractall(self.place / "unpacked")
            (modules / name).parent.mkdir(exist_ok=True)
            (self.place / "unpacked/package").rename(modules / name)
        (modules / ".bin").mkdir()
        (modules / ".bin/dsrs-server").symlink_to("../dsrs-server/bin/dsrs-server")
        return str(modules / ".bin/dsrs-server")

    def failure_of(self, command, **env):
        done = subprocess.run([command, "0"], capture_output=True, text=True, env=os.environ | env)
        self.assertEqual(done.returncode, 1)
        return done.stderr

    def program_on_path(self, name, text):
        """A directory in which a program of the system answers something else."""
        directory = self.directory("with-" + name)
        (directory / name).write_text("#!/bin/sh\n" + text)
        (directory / name).chmod(0o755)
        return "%s:%s" % (directory, os.environ["PATH"])

    def test_the_same_program_gives_the_same_bytes(self):
        made = [npm.write_packages(ABOUT, here(), PROGRAM, self.directory(name), WHEN, 9) for name in ("a", "b")]
        self.assertEqual([path.name for path in made[0]], ["dsrs-server-%s-%s-1.2.0.tgz" % (SYSTEM, CPU), "dsrs-server-1.2.0.tgz"])
        self.assertEqual([path.read_bytes() for path in made[0]], [path.read_bytes() for path in made[1]])

    def test_the_package_with_the_launcher_is_the_same_on_every_platform(self):
        other = platforms.Platform("darwin", "arm64", "macosx_11_0_arm64", None)
        made = [npm.write_packages(ABOUT, one, program, self.directory(name), WHEN, 9)[1]
                for one, program, name in ((here(), PROGRAM, "a"), (other, b"other", "b"))]
        self.assertEqual(made[0].read_bytes(), made[1].read_bytes())

    def test_each_platform_has_its_fields(self):
        fields, files = npm.platform_package(ABOUT, platforms.Platform("linux", "arm64", "", "2.17"), PROGRAM)
        self.assertEqual([fields[name] for name in ("name", "os", "cpu", "libc")],
                         ["@dsrs-server/linux-arm64", ["linux"], ["arm64"], ["glibc"]])
        self.assertLessEqual({"LICENSE", "THIRD-PARTY-NOTICES.txt", "dsrs-server.cdx.json"}, set(files))
        self.assertNotIn("libc", npm.platform_package(ABOUT, platforms.Platform("darwin", "arm64", "", None), PROGRAM)[0])
        self.assertEqual(npm.launcher_package(ABOUT)[0]["optionalDependencies"][fields["name"]], "1.2.0")

    def test_the_launcher_passes_arguments_and_exit_codes_on(self):
        command = self.install()
        self.assertEqual(subprocess.check_output([command, "--version"], text=True), "dsrs-server 1.2.0\n")
        self.assertEqual(subprocess.run([command, "42"]).returncode, 42)

    def test_the_program_replaces_the_launcher_and_receives_its_signals(self):
        with subprocess.Popen([self.install(), "wait"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as started:
            self.assertEqual(started.stdout.readline(), b"ready\n")
            started.send_signal(signal.SIGTERM)
            self.assertEqual(started.wait(), 7)

    def test_a_program_that_is_missing_is_named_with_the_way_out(self):
        failure = self.failure_of(self.install(with_program=False))
        self.assertIn("the package @dsrs-server/%s-%s, which contains the program, is not installed" % (SYSTEM, CPU), failure)
        self.assertIn("npm install --include=optional dsrs-server", failure)

    def test_a_platform_without_a_package_is_named_with_the_way_out(self):
        path = self.program_on_path("uname", 'case $1 in -s) echo Plan9 ;; -m) echo mips ;; esac\n')
        failure = self.failure_of(self.install(), PATH=path)
        self.assertIn("there is no package for Plan9 on mips: build the program or its image from the source: http://repo", failure)

    def test_a_system_that_is_too_old_is_named_with_the_way_out(self):
        path = self.program_on_path("getconf", "echo glibc 2.31\n")
        failure = self.failure_of(self.install(glibc="2.36"), PATH=path)
        self.assertIn("needs glibc 2.36 or later, and this system has 2.31: use a newer system, or build", failure)


class FindServerTest(Scratch):
    """scripts/find-server.sh, with which demo.sh uses a server that is installed."""

    def find(self, version, **env):
        program = self.directory("bin") / "dsrs-server"
        program.write_text("#!/bin/sh\necho dsrs-server %s\n" % version)
        program.chmod(0o755)
        path = "%s:%s" % (program.parent, os.environ["PATH"])
        clean = {name: value for name, value in os.environ.items() if name != "DSRS_SERVER"}
        env = clean | {"PATH": path, "CARGO_TARGET_DIR": str(self.place)} | env
        done = subprocess.run([ROOT / "scripts/find-server.sh", "debug"], env=env, capture_output=True, text=True)
        return done.returncode, done.stdout.strip().replace(str(self.place), "."), done.stderr

    def own_version(self):
        listed = subprocess.check_output(["cargo", "metadata", "--format-version", "1", "--no-deps"], cwd=ROOT)
        return next(one["version"] for one in json.loads(listed)["packages"] if one["name"] == "dsrs-server")

    def test_a_server_in_path_is_found(self):
        self.assertEqual(self.find(self.own_version()), (0, "./bin/dsrs-server", ""))

    def test_a_server_of_another_version_is_not(self):
        code, found, said = self.find("0.0.1")
        self.assertEqual((code, found), (0, ""))
        self.assertIn("is dsrs-server 0.0.1, and this clone is dsrs-server " + self.own_version(), said)

    def test_a_clone_that_is_built_needs_none(self):
        built = self.directory("debug") / "dsrs-server"
        built.touch(0o755)
        self.assertEqual(self.find(self.own_version()), (0, "", ""))

    def test_an_empty_name_means_none(self):
        self.assertEqual(self.find(self.own_version(), DSRS_SERVER=""), (0, "", ""))

    def test_a_named_server_that_is_not_there_is_an_error(self):
        code, found, said = self.find(self.own_version(), DSRS_SERVER="/nowhere/dsrs-server")
        self.assertEqual((code, found), (1, ""))
        self.assertIn("DSRS_SERVER=/nowhere/dsrs-server is no program that runs", said)


if __name__ == "__main__":
    unittest.main()
