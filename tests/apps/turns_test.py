#!/usr/bin/env python3
"""Tests of apps/bench/turns.py."""
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "apps/bench"))
import turns  # noqa: E402

WORK = [sys.executable, "-c", "import time; end = time.process_time() + 1\nwhile time.process_time() < end: pass"]


class Turns(unittest.TestCase):
    def test_undisturbed_runs_count(self):
        summary = turns.summary([(10.0, 0.0), (12.0, 0.05), (11.0, 0.02), (50.0, 0.9)])
        self.assertEqual(summary.median, 11.0)
        self.assertAlmostEqual(summary.spread, 2 / 11)
        self.assertFalse(summary.disturbed)
        self.assertEqual(summary.shown(), "11.0 (18%)")

    def test_disturbed_runs_are_marked(self):
        summary = turns.summary([(10.0, 0.5), (12.0, 1.0)])
        self.assertEqual(summary.median, 10.0)
        self.assertEqual(summary.shown("{:.0f}"), "10* (20%)")

    def test_without_runs_there_is_no_summary(self):
        self.assertIsNone(turns.summary([]))

    def test_measurements_take_turns(self):
        called = []
        results = turns.in_turns({"a": lambda: called.append("a") or 1, "b": lambda: called.append("b") or 2}, 3)
        self.assertEqual(called, list("ababab"))
        self.assertEqual(results, {"a": [1, 1, 1], "b": [2, 2, 2]})

    def test_own_work_is_not_that_of_others(self):
        alone = min(turns.run(WORK).others for _ in range(3))  # the machine may be busy
        with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as other:
            disturbed = turns.run(WORK).others
            other.kill()
        self.assertGreater(disturbed, min(0.2, alone + 0.2))

    def test_output_and_errors_are_kept(self):
        run = turns.run(["sh", "-c", "echo out; echo wrong >&2; exit 3"])
        self.assertEqual((run.status, run.output, run.errors), (3, "out\n", "wrong\n"))
        with self.assertRaises(subprocess.TimeoutExpired):
            turns.run(["sleep", "10"], timeout=0.1)

    def test_peers_keep_their_memory(self):
        """The C library knows the variables: memory that is freed is used again without page faults."""
        program = """
import ctypes, resource
c = ctypes.CDLL(None)
c.malloc.restype = ctypes.c_void_p
c.free.argtypes, c.memset.argtypes = [ctypes.c_void_p], [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
def use():
    block = c.malloc(100 << 20)
    c.memset(block, 1, 100 << 20)
    c.free(block)
use()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
use()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
        def faults(environment):
            return int(turns.run([sys.executable, "-c", program], environment).output)
        self.assertLess(faults(turns.peer_environment()), 10)
        self.assertGreater(faults({k: v for k, v in os.environ.items() if not k.startswith("MALLOC_")}), 10)  # huge pages are 2 MB


if __name__ == "__main__":
    unittest.main()
