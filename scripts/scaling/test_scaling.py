#!/usr/bin/env python3
"""Tests of the planner and of the simulation: python3 scripts/scaling/test_scaling.py"""

import pathlib
import subprocess
import sys
import unittest

import plan
import simulate

HERE = pathlib.Path(__file__).parent


class PlanTest(unittest.TestCase):
    def test_needs_grow_with_the_load(self):
        small = plan.plan(200, 1000, 30)
        large = plan.plan(2000, 1000, 30)
        for name in ("server_cores", "postgres_cores", "history_gb", "requests_to_models_at_once"):
            self.assertAlmostEqual(large[name] / small[name], 10, delta=0.5, msg=name)

    def test_requests_at_once_are_rate_times_time(self):
        found = plan.plan(50, 2000, 1, nodes=4, depth=3)
        self.assertEqual(found["requests_to_models_at_once"], 400)
        self.assertEqual(found["runs_in_flight"], 300)

    def test_large_texts_fill_the_disk_before_the_processor(self):
        self.assertIn("WAL", plan.plan(10, 1, 1)["first_full"])
        self.assertGreater(plan.plan(10, 1, 1, text_kb=500)["history_gb"], 40 * plan.plan(10, 1, 1)["history_gb"])

    def test_the_engine_relieves_postgres_of_runs_with_many_nodes_and_costs_more(self):
        large = [plan.plan(100, 100, 1, nodes=16, engine=engine) for engine in ("postgres", "restate")]
        self.assertLess(large[1]["postgres_cores"], large[0]["postgres_cores"])
        alone, engine = plan.plan(100, 100, 1), plan.plan(100, 100, 1, engine="restate")
        self.assertGreater(engine["postgres_cores"], alone["postgres_cores"])
        self.assertGreater(engine["engine_cores"], alone["postgres_cores"])
        self.assertGreaterEqual(engine["engine_nodes"], 3)
        # 24 cores for 4,500 diamonds a second: the prototype.
        self.assertAlmostEqual(plan.plan(4500, 100, 1, engine="restate")["engine_cores"], 24, delta=0.5)

    def test_batches_stay_in_postgres_with_the_engine(self):
        batches = [plan.plan(100, 100, 1, kind="batch", engine=engine) for engine in plan.ENGINES]
        self.assertEqual(batches[0]["postgres_cores"], batches[1]["postgres_cores"])
        self.assertEqual(batches[1]["engine_cores"], 0)

    def test_loads_that_do_not_fit(self):
        self.assertFalse(plan.plan(100_000, 100, 1)["fits_one_postgres"])

    def test_a_load_without_runs_is_refused(self):
        command = [sys.executable, str(HERE / "plan.py"), "--runs-per-second", "0"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("a load has runs", done.stderr)


class SimulationTest(unittest.TestCase):
    def world(self, **changes):
        given = dict(servers=1, cores=2, postgres_cores=2, in_flight=32, runs=400, model_ms=0.0, server_ms=1.4,
                     postgres_ms=2.1, flush_ms=1.0, driver_ms=0.0, shared=False, grouped=True)
        return simulate.World(**{**given, **changes}).results()

    def test_a_slow_model_is_the_limit(self):
        found = self.world(model_ms=1000.0)
        # Three stages of a second each.
        self.assertAlmostEqual(found["runs_per_second"], 32 / 3, delta=2)

    def test_groups_need_fewer_flushes_the_more_is_in_flight(self):
        few, many = self.world(in_flight=2), self.world(in_flight=64)
        self.assertGreater(few["flushes_per_run"], 2 * many["flushes_per_run"])

    def test_no_more_is_done_than_the_cores_have_time_for(self):
        found = self.world(in_flight=256)
        self.assertLessEqual(found["busy"]["postgres"], 1.0)
        self.assertLessEqual(found["runs_per_second"] * 2.1 / 1000, 2.0)

    def test_more_servers_do_more_until_postgres_is_full(self):
        one = self.world(server_ms=8.0, cores=1)["runs_per_second"]
        three = self.world(server_ms=8.0, cores=1, servers=3)["runs_per_second"]
        self.assertGreater(three / one, 2.5)

    def test_measured_rates_are_met(self):
        self.assertTrue(simulate.check())


if __name__ == "__main__":
    unittest.main()
