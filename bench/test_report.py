#!/usr/bin/env python3
"""Tests of the report: python3 bench/test_report.py

The pages show what bench/results.json has, every measured figure of README is one of those, and writing twice changes nothing
more. Measures nothing.
"""

import copy
import json
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import sections  # noqa: E402
from reporting import figures, pages, quiet, render, scaling  # noqa: E402
from reporting.tools import Skipped  # noqa: E402
from sections import engine  # noqa: E402

ROOT = figures.ROOT
# A number with a unit of time, memory or share, as a benchmark has.
MEASURED = re.compile(r"(?<![\w.`-])\d[\d.,]*(?: to \d[\d.,]*)? ?(?:ns|µs|ms|s|MB|KB|kB|GB|bytes|%)(?![\w-])")
# Numbers of README with a unit that measure nothing, and why.
NOT_MEASURED = {}
# Three minutes at 300 words a minute, less the time for the tables.
MOST_WORDS = 1000


def prose(text):
    """Without fences, tables and comments."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    text = re.sub(r"^\|.*$", "", text, flags=re.M)
    return re.sub(r"<!--.*?-->", "", text, flags=re.S)


def section(**changes):
    return {"commit": "aaaaaaaa", "date": "2026-11-20", "machine": "two processors", "command": "bench", "rounds": 3,
            "figures": [figures.figure("one: server", "µs", {"ours": [10, 12, 11], "forwarder": [5, 6, 5]}, most=1.4, of="forwarder")],
            **changes}


class PagesTest(unittest.TestCase):
    """The files of the repository."""

    def setUp(self):
        self.book = pages.Book()
        self.coefficients = json.loads(self.book.read(scaling.FILE))

    def test_pages_show_the_results(self):
        for page in pages.PAGES:
            text = self.book.read(page)
            wanted = pages.rendered(text, self.book.results, self.coefficients)
            self.assertEqual(text, wanted, "%s differs: python3 bench/report.py --pages" % page)

    def test_coefficients_follow_from_the_results(self):
        text = self.book.read(scaling.FILE)
        self.assertEqual(text, scaling.updated(text, self.book.results), "python3 bench/report.py --pages")

    def test_every_section_is_on_the_page(self):
        shown = pages.sections_of(self.book.read("docs/performance.md"))
        self.assertEqual(sorted(shown), sorted({*sections.NAMES, *sections.BY_HAND} - {"small-model"}))
        self.assertLessEqual(set(self.book.results), {*sections.NAMES, *sections.BY_HAND})

    def test_every_measured_figure_of_the_readme_is_a_result(self):
        text = pages.INLINE.sub("", self.book.read("README.md"))
        text = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
        found = {match.group(0) for match in MEASURED.finditer(text)} - set(NOT_MEASURED)
        self.assertEqual(found, set(), "put each between markers (bench/reporting/pages.py), or into NOT_MEASURED")

    def test_the_page_takes_three_minutes(self):
        by_hand = pages.BLOCK.sub("", self.book.read("docs/performance.md"))
        words = len(prose(by_hand).split())
        self.assertLess(words, MOST_WORDS)

    def test_results_say_where_they_come_from(self):
        for name, found in self.book.results.items():
            for member in ("commit", "date", "machine", "command", "figures"):
                self.assertTrue(found.get(member), "%s.%s" % (name, member))
            names = [one["name"] for one in found["figures"]]
            self.assertEqual(len(names), len(set(names)), name)
            for one in found["figures"]:
                self.assertEqual("met" in one, "target" in one, one["name"])
                if "target" in one:
                    self.assertEqual(one["met"], figures.is_met(one), one["name"])


class WriteTest(unittest.TestCase):
    """A copy of the files of the repository."""

    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="dsrs-report-"))
        self.addCleanup(shutil.rmtree, self.root)
        for path in (*pages.PAGES, pages.HISTORY, scaling.FILE, "bench/results.json"):
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, self.root / path)

    def files(self):
        return {path: (self.root / path).read_text() for path in (*pages.PAGES, pages.HISTORY, scaling.FILE, "bench/results.json")}

    def test_without_a_measurement_nothing_changes(self):
        before = self.files()
        pages.Book(self.root).write()
        self.assertEqual(self.files(), before)

    def test_new_figures_replace_the_old_ones_which_go_to_the_history(self):
        book = pages.Book(self.root)
        old = copy.deepcopy(book.results["background"])
        new = copy.deepcopy(old)
        new["commit"], new["date"] = "bbbbbbbb", "2026-12-01"
        postgres = next(one for one in new["figures"] if one["name"] == "diamond: Postgres")
        postgres["values"]["ours"] = [0.44, 0.43, 0.47]
        book.write({"background": new})
        page, history = book.read("docs/performance.md"), book.read(pages.HISTORY)
        self.assertIn("| diamond: Postgres | ms | 0.44 (0.43–0.47) |", page)
        self.assertIn("Commit bbbbbbbb, 1 December 2026", page)
        for one in old["figures"]:
            self.assertIn(render.history(old["date"], old["commit"], "background", one), history)
        self.assertNotIn("bbbbbbbb", history)

    def test_writing_twice_is_writing_once(self):
        for _ in range(2):
            pages.Book(self.root).write({"evaluation": section()})
            after = getattr(self, "after", None)
            self.after = self.files()
        self.assertEqual(after, self.after)

    def test_coefficients_and_their_page_follow(self):
        book = pages.Book(self.root)
        new = copy.deepcopy(book.results["background"])
        for one in new["figures"]:
            if one["name"] in ("one: Postgres", "diamond: Postgres"):
                one["values"]["ours"] = [{"one: Postgres": 0.2, "diamond: Postgres": 0.5}[one["name"]]]
        book.write({"background": new})
        known = scaling.values(json.loads(book.read(scaling.FILE)))["postgres"]
        self.assertEqual((known["background_base_ms"], known["background_node_ms"]), (0.1, 0.1))
        self.assertIn("<!-- coefficient: postgres / background_base_ms -->0.1<!-- end -->", book.read("docs/scaling.md"))

    def test_a_marker_without_a_figure_is_refused(self):
        text = "costs <!-- figure: background / diamond: nothing / ours -->1<!-- end -->"
        with self.assertRaisesRegex(pages.Marker, "diamond: nothing"):
            pages.rendered(text, pages.Book(self.root).results, {})

    def test_text_between_markers_alone_is_written(self):
        text = "before\n<!-- figures: x -->\nold\n<!-- end -->\nafter 3 ms\n"
        found = pages.rendered(text, {"x": section()}, {})
        self.assertTrue(found.startswith("before\n<!-- figures: x -->\n| |") and found.endswith("<!-- end -->\nafter 3 ms\n"))
        self.assertNotIn("old", found)
        self.assertEqual(found, pages.rendered(found, {"x": section()}, {}))


class FiguresTest(unittest.TestCase):
    def test_ratios_are_those_of_the_rounds(self):
        # A slow round is slow for both.
        found = figures.figure("x", "µs", {"ours": [10, 100, 11], "before": [20, 200, 22]})
        self.assertEqual(found["values"]["ours"], [11, 10, 100])
        self.assertEqual(found["ratios"], {"before": [0.5, 0.5, 0.5]})

    def test_a_target_bounds_ours_or_a_ratio(self):
        rounds = {"ours": [14], "forwarder": [10]}
        self.assertTrue(figures.figure("x", "µs", rounds, most=1.4, of="forwarder")["met"])
        self.assertFalse(figures.figure("x", "µs", rounds, most=13)["met"])
        self.assertTrue(figures.figure("x", "µs", rounds, least=13)["met"])
        self.assertIsNone(figures.figure("x", "µs", {"ours": [14]}, most=1.4, of="forwarder")["met"])

    def test_a_row_has_value_spread_ratio_and_target(self):
        self.assertEqual(
            render.table(section()["figures"]).splitlines()[2],
            "| one: server | µs | 11 (10–12) | 5 (5–6) | 2 (2–2.2) | ≤ 1.4 × forwarder, **missed** |")

    def test_columns_without_a_value_are_left_out(self):
        table = render.table([figures.figure("a", "", {"ours": [1]}), figures.figure("b", "", {"ours": [2000]})])
        self.assertEqual(table, "| | this build |\n| --- | --- |\n| a | 1 |\n| b | 2,000 |")

    def test_numbers_have_three_digits(self):
        shown = [render.number(value) for value in (0, 0.0212, 0.5, 1.84, 12.36, 104000, 2.5e6, 13.0)]
        self.assertEqual(shown, ["0", "0.021", "0.5", "1.84", "12.4", "104,000", "2.50 million", "13"])


class QuietTest(unittest.TestCase):
    def test_a_round_waits_for_the_others(self):
        loads = [1.2, 0.5, 0.1]
        waiting = quiet.Quiet(most=0.15, patience=60, load=lambda: loads.pop(0))
        waiting.wait()
        self.assertEqual((loads, waiting.summary()), ([], True))

    def test_without_patience_the_round_is_noisy(self):
        waiting = quiet.Quiet(most=0.15, patience=0, load=lambda: 1.25)
        waiting.wait()
        self.assertEqual(waiting.summary(), "1 of 1 rounds began beside other work, up to 1.2 processors")
        self.assertEqual(waiting.summary(), True)

    def test_own_work_is_that_of_descendants(self):
        processes = {1: (0, 1000), 10: (1, 5), 11: (10, 7), 12: (11, 9), 20: (1, 100)}
        self.assertEqual(quiet.own_ticks(processes, 10), 21)

    def test_busy_is_neither_idle_nor_waiting_for_a_disk(self):
        self.assertEqual(quiet.busy_ticks("cpu  10 1 20 5000 300 2 3 4 0 0\ncpu0 1\n"), 40)


class SectionsTest(unittest.TestCase):
    def test_a_missing_module_is_skipped_with_its_name(self):
        with self.assertRaisesRegex(Skipped, "bench/there_is_none.py is missing"):
            sections.delegated("there_is_none", None)

    def test_the_output_of_divan_is_read(self):
        text = """
engine                         fastest       │ slowest       │ median        │ mean          │ samples │ iters
├─ build_a_chain_of_three      41.2 µs       │ 98.1 µs       │ 43.9 µs       │ 45.7 µs       │ 100     │ 100
├─ build_a_wide_document                     │               │               │               │         │
│  ├─ 10                       160 µs        │ 260 µs        │ 170.2 µs      │ 175 µs        │ 100     │ 100
│  ╰─ 1000                     26.1 ms       │ 31 ms         │ 27.2 ms       │ 27.4 ms       │ 100     │ 100
├─ read_the_answer             820.5 ns      │ 1.1 µs        │ 850.5 ns      │ 870 ns        │ 100     │ 1600
╰─ run                                       │               │               │               │         │
   ├─ chain of three           24.1 µs       │ 60 µs         │ 25.3 µs       │ 26 µs         │ 100     │ 100
   ╰─ one predict              9.1 µs        │ 20 µs         │ 9.6 µs        │ 9.9 µs        │ 100     │ 100
"""
        self.assertEqual(engine.medians(text), {
            "build_a_chain_of_three": 43.9, "build_a_wide_document / 10": 170.2, "build_a_wide_document / 1000": 27200.0,
            "read_the_answer": 0.8505, "run / chain of three": 25.3, "run / one predict": 9.6})


if __name__ == "__main__":
    unittest.main()
