#!/usr/bin/env python3
"""Tests of the machinery of steps (.ci/steps.sh), with steps of their own in a scratch repository."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

MACHINERY = pathlib.Path(__file__).resolve().parent / "steps.sh"
SCRIPT = """#!/usr/bin/env bash
set -euo pipefail
cd "$(dirname "$0")"
. "%s"
describe_tools() { cat ../tools; }
always greet
step_greet() { echo hello; }
keyed page-check pages "=${TEXT:-}"
step_page_check() { echo run >>../log; cat pages/*; if grep -q wrong pages/*; then return 7; fi; echo checked; }
always last
step_last() { echo "the last one"; }
read_arguments "$@"
begin_run
run_steps
"""
ROW = re.compile(r"^(\S+) +([\d.]+) +([\d.]+) +(\w+) *(-|\w{40})$", re.M)


class Steps(unittest.TestCase):
    def setUp(self):
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="dsrs-steps-"))
        self.addCleanup(shutil.rmtree, self.scratch)
        self.clone = self.scratch / "clone"
        (self.clone / "pages").mkdir(parents=True)
        self.write("clone/run", SCRIPT % MACHINERY)
        self.write("clone/pages/one.md", "one")
        self.write("clone/.gitignore", "*.tmp")
        self.write("tools", "version 1")
        subprocess.run(["git", "init", "--quiet", str(self.clone)], check=True)
        subprocess.run(["git", "add", "."], cwd=self.clone, check=True)

    def write(self, name, text):
        (self.scratch / name).write_text(text, encoding="utf-8")

    def run_ci(self, *arguments, clone="clone", code=0, text=""):
        """Runs the script, and returns what it printed and whether the step with a key ran."""
        self.write("log", "")
        environment = dict(os.environ, XDG_CACHE_HOME=str(self.scratch / "cache"), TEXT=text)
        done = subprocess.run(["bash", str(self.scratch / clone / "run"), *arguments], env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.returncode, code, done.stdout)
        return done.stdout, bool((self.scratch / "log").read_text())

    def assert_runs(self, *arguments, **options):
        self.assertTrue(self.run_ci(*arguments, **options)[1], "the step was skipped")

    def assert_skips(self, *arguments, **options):
        self.assertFalse(self.run_ci(*arguments, **options)[1], "the step ran")

    def rows(self, printed):
        return {name: (float(wall), float(cpu), result, key) for name, wall, cpu, result, key in ROW.findall(printed)}

    def test_a_step_that_has_passed_is_skipped_with_its_key(self):
        first, ran = self.run_ci()
        self.assertTrue(ran)
        self.assertEqual([row[2] for row in self.rows(first).values()], ["passed"] * 3)
        key = self.rows(first)["page-check"][3]
        second, ran = self.run_ci()
        self.assertFalse(ran)
        self.assertEqual(self.rows(second)["page-check"], (0, 0, "skipped", key))
        self.assertIn("skipped: page-check has passed before with the same inputs (key %s)" % key, second)
        self.assertIn("hello", second)
        self.assertIn("the last one", second)

    def test_the_same_files_have_the_same_key_in_another_clone(self):
        self.assert_runs()
        shutil.copytree(self.clone, self.scratch / "other")
        self.assert_skips(clone="other")

    def test_all_ignores_keys_and_stores_them(self):
        self.assert_runs("--all")
        self.assert_runs("--all")
        self.assert_skips()

    def test_a_change_of_an_input_runs_the_step(self):
        changes = [
            lambda: self.write("clone/pages/one.md", "another one"),
            lambda: self.write("clone/pages/new.md", "not tracked"),
            lambda: (self.clone / "pages/one.md").chmod(0o755),
            lambda: (self.clone / "pages/one.md").unlink(),
            lambda: self.write("tools", "version 2"),
            lambda: self.write("clone/run", (self.clone / "run").read_text().replace("echo checked", "echo done")),
        ]
        self.assert_runs()
        for number, change in enumerate(changes):
            with self.subTest(change=number):
                change()
                self.assert_runs()
                self.assert_skips()
        self.assert_runs(text="another week")

    def test_a_change_beside_the_inputs_skips_the_step(self):
        self.assert_runs()
        self.write("clone/beside.md", "no input")
        self.write("clone/pages/ignored.tmp", "ignored by git")
        self.assert_skips()

    def test_a_step_that_has_failed_runs_again(self):
        self.write("clone/pages/one.md", "wrong")
        for _ in range(2):
            printed, ran = self.run_ci(code=7)
            self.assertTrue(ran)
            self.assertNotIn("checked", printed)
            self.assertIn("the step page-check failed", printed)
            # The table so far is printed; the steps after the failure do not run.
            self.assertEqual({name: row[2] for name, row in self.rows(printed).items()}, {"greet": "passed", "page-check": "failed"})

    def test_a_step_that_could_not_check_everything_runs_again(self):
        self.write("clone/pages/one.md", "SKIPPED: no network")
        for _ in range(2):
            printed, ran = self.run_ci()
            self.assertTrue(ran)
            self.assertEqual(self.rows(printed)["page-check"][2], "incomplete")

    def test_an_input_that_changes_during_the_run_leaves_no_key(self):
        edit = "step_greet() { echo \"edited $RANDOM\" >pages/one.md; }\nalways second\nstep_second() { echo more >>pages/one.md; }"
        self.write("clone/run", (self.clone / "run").read_text().replace("step_greet() { echo hello; }", edit))
        self.assertIn("an input of page-check has changed during the run", self.run_ci()[0])
        self.assert_runs("page-check")
        self.assert_skips("page-check")

    def test_a_key_expires_after_thirty_days(self):
        self.assert_runs()
        (stored,) = (self.scratch / "cache/dsrs-server/ci").iterdir()
        passed_at = stored.stat().st_mtime
        for days, check in [(29, self.assert_skips), (31, self.assert_runs)]:
            then = passed_at - days * 24 * 60 * 60
            os.utime(stored, (then, then))
            check()

    def test_the_table_has_the_wall_and_cpu_seconds_of_children(self):
        busy = "step_greet() { sleep 0.5; python3 -c 'import time\nwhile time.process_time() < 0.5: pass'; }"
        self.write("clone/run", (self.clone / "run").read_text().replace("step_greet() { echo hello; }", busy))
        wall, cpu, _, _ = self.rows(self.run_ci("greet")[0])["greet"]
        self.assertGreaterEqual(wall, 1.0)
        self.assertGreaterEqual(cpu, 0.5)

    def test_a_run_that_is_ended_prints_the_table_so_far(self):
        waits = "step_last() { echo waiting; sleep 3600; }"
        self.write("clone/run", (self.clone / "run").read_text().replace('step_last() { echo "the last one"; }', waits))
        environment = dict(os.environ, XDG_CACHE_HOME=str(self.scratch / "cache"))
        run = subprocess.Popen(["bash", str(self.clone / "run")], env=environment, stdout=subprocess.PIPE, text=True,
                               start_new_session=True)
        while run.stdout.readline() != "waiting\n":
            self.assertIsNone(run.poll())
        # As `timeout` ends a run: with every process of its group.
        os.killpg(run.pid, signal.SIGTERM)
        printed, _ = run.communicate(timeout=300)
        self.assertEqual(run.returncode, 143)
        self.assertEqual([row[2] for row in self.rows(printed).values()], ["passed", "passed", "interrupted"])

    def test_steps_can_be_named_and_listed(self):
        printed, ran = self.run_ci("--list")
        self.assertFalse(ran)
        self.assertRegex(printed, r"greet +- +is never skipped\npage-check +\w{40} has to run\n")
        self.assertNotIn("hello", printed)
        printed, ran = self.run_ci("page-check")
        self.assertTrue(ran)
        self.assertEqual(list(self.rows(printed)), ["page-check"])
        self.assertRegex(self.run_ci("--list", "page-check")[0], r"^page-check +\w{40} has passed\n$")
        self.assertRegex(self.run_ci("--inputs", "page-check")[0], r"^page-check:\n=\n\w{40} - pages/one.md\n$")
        self.assertIn("no step is named page; the steps: greet page-check last", self.run_ci("page", code=1)[0])

    def test_an_input_that_is_not_there_is_an_error(self):
        shutil.rmtree(self.clone / "pages")
        printed, ran = self.run_ci(code=1)
        self.assertFalse(ran)
        self.assertIn("an input is not there: pages", printed)


if __name__ == "__main__":
    unittest.main()
