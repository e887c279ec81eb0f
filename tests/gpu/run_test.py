#!/usr/bin/env python3
"""Tests of the GPU run's own parts: what is judged as passed, and what the summary says."""
import pathlib
import sys
import tempfile
import time
import unittest

import jobs
import summary
from jobs import Job, Outcome

DOCTEST = ("[doctest] test cases:  12 |  12 passed | 0 failed | 0 skipped\n"
           "[doctest] assertions: 345 | 345 passed | 0 failed |\n")


def python(text, **more):
    return Job("a program", [sys.executable, "-c", text], **more)


class Jobs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def run_one(self, job, deadline=None):
        return jobs.run(job, self.folder.name, deadline)

    def test_a_test_program_passes_if_it_says_what_it_ran(self):
        outcome = self.run_one(python(f"print({DOCTEST!r})", doctest=True))
        self.assertEqual((outcome.status, outcome.note), ("passed", "12 cases, 345 checks"))

    def test_no_test_case_is_a_failure(self):
        outcome = self.run_one(python(f"print({DOCTEST.replace('12', '0')!r})", doctest=True))
        self.assertEqual((outcome.status, outcome.note), ("failed", "no test case ran"))
        self.assertEqual(self.run_one(python("print('skipped')", doctest=True)).status, "failed")

    def test_a_status_other_than_0_is_a_failure(self):
        outcome = self.run_one(python(f"print({DOCTEST!r}); exit(99)", doctest=True))
        self.assertEqual((outcome.status, outcome.note), ("failed", "exit status 99"))

    def test_a_program_that_does_not_exist_is_a_failure(self):
        self.assertEqual(self.run_one(Job("x", ["/no/such/program"])).status, "failed")

    def test_what_hangs_is_stopped_with_all_it_started(self):
        late = pathlib.Path(self.folder.name) / "late"
        began = time.monotonic()
        outcome = self.run_one(Job("x", ["/bin/sh", "-c", f"(sleep 1.5; touch '{late}') & sleep 60"], timeout=0.3))
        self.assertEqual(outcome.status, "failed")
        self.assertLess(time.monotonic() - began, 10)
        time.sleep(1.7)
        self.assertFalse(late.exists())

    def test_nothing_begins_after_the_deadline(self):
        self.assertEqual(self.run_one(python("print(1)"), time.monotonic() - 1).status, "not run")

    def test_the_environment_reaches_the_program(self):
        outcome = self.run_one(python("import os; print(os.environ['A'])", environment={"A": "hello"}))
        self.assertEqual(outcome.output, "hello\n")

    def test_outcomes_keep_the_order_of_the_jobs(self):
        slow = Job("slow", [sys.executable, "-c", "import time; time.sleep(.3)"])
        outcomes = jobs.run_all([slow, Job("fast", ["/bin/true"])], self.folder.name, 2)
        self.assertEqual([o.name for o in outcomes], ["slow", "fast"])


class Summary(unittest.TestCase):
    facts = summary.Facts("NVIDIA X9 80GB/s", "1.2.3", "2030-01-02", "abc", "tests/run.sh --gpu", 321.4)

    def test_the_file_is_named_after_date_and_gpu(self):
        self.assertEqual(summary.file_name(self.facts), "2030-01-02-NVIDIA-X9-80GB-s.md")

    def test_all_passed(self):
        memory = Outcome("memory", "passed", 2, "1 cases", "memory: net: 5 MiB\nmore\n")
        text = summary.markdown(self.facts, [Outcome("memory", "passed", 2.04, "1 cases")], [memory], "GPU ledger: 9 of 9")
        for part in ("Everything passed", "| memory | passed | 2.0 s | 1 cases |", "* net: 5 MiB", "driver 1.2.3",
                     "commit abc", "321 s in all", "GPU ledger: 9 of 9"):
            self.assertIn(part, text)
        self.assertNotIn("did not pass", text)

    def test_what_did_not_pass_comes_first(self):
        stages = [Outcome("parity", "failed", 1), Outcome("memcheck", "missing"), Outcome("graph", "not run")]
        text = summary.markdown(self.facts, stages, [Outcome("tests_x", "failed", 1, "exit status 1")], "")
        self.assertIn("Not everything passed: parity failed, memcheck missing, graph not run.", text)
        self.assertIn("* tests_x: exit status 1", text)


if __name__ == "__main__":
    unittest.main()
