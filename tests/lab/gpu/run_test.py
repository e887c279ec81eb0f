#!/usr/bin/env python3
"""Tests of the GPU run, with programs that only print that they passed: what counts as passed, what continues after a failure,
what is recorded, and the text of the summary."""
import contextlib
import io
import os
import pathlib
import shutil
import sys
import tempfile
import time
import unittest
import unittest.mock

import device
import jobs
import library_cases
import pack
import roofline
import run
import step_costs
import summary
from jobs import Job, Outcome
from simulated_machine import DOCTEST, SimulatedMachine


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

    def test_running_out_of_time_is_what_the_job_says_it_is(self):
        outcome = self.run_one(python("import time; time.sleep(60)", timeout=0.3, when_late="missing"))
        self.assertEqual((outcome.status, outcome.note), ("missing", "stopped after 0 s"))

    def test_nothing_begins_after_the_deadline(self):
        self.assertEqual(self.run_one(python("print(1)"), time.monotonic() - 1).status, "not run")

    def test_the_environment_reaches_the_program(self):
        outcome = self.run_one(python("import os; print(os.environ['A'])", environment={"A": "hello"}))
        self.assertEqual(outcome.output, "hello\n")

    def test_outcomes_keep_the_order_of_the_jobs(self):
        slow = Job("slow", [sys.executable, "-c", "import time; time.sleep(.3)"])
        outcomes = jobs.run_all([slow, Job("fast", ["/bin/true"])], self.folder.name, 2)
        self.assertEqual([o.name for o in outcomes], ["slow", "fast"])


class Driver(unittest.TestCase):
    def test_its_version_is_read_whatever_the_module_is_called(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "version"
            for line in ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (builder@host)\n",
                         "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Fri Jun 5 12:00:00 UTC 2026\n"):
                file.write_text(line)
                self.assertEqual(device.driver_version(None, file), "580.159.04")


class StepCosts(unittest.TestCase):
    now = step_costs.Step(step_costs.Net("net", 8), 10, 100.0, 50.0, 3.0, 0.5)

    def test_the_table_is_read_as_it_is_written(self):
        text = "\n".join(step_costs.table(step_costs.COLUMNS, [self.now.cells()]))
        self.assertEqual(step_costs.recorded(text), {self.now.net: self.now})

    def test_more_and_less_are_told(self):
        self.assertEqual(step_costs.complaints(self.now, self.now), [])
        self.assertEqual(step_costs.complaints(self.now._replace(nodes=11, read=100.4), self.now),
                         ["net, batch 8, fp16: 11 nodes, steps.md says 10"])
        self.assertEqual(step_costs.complaints(self.now._replace(written=49.0), self.now),
                         ["net, batch 8, fp16: 49.0 MB written, steps.md says 50.0"])
        self.assertEqual(step_costs.complaints(self.now, None), ["net, batch 8, fp16 is not in steps.md"])

    def test_a_roofline(self):
        small = roofline.Operation("_Z1kv", 1000, 256, 100, 100, 0)
        self.assertAlmostEqual(roofline.seconds(small), 3e-6)
        self.assertAlmostEqual(roofline.seconds(small._replace(read=10**9)), 1e-6 + (1e9 + 100) / (4.3e12 * 0.83))
        few = small._replace(blocks=2, read=10**6, written=0)  # 512 threads with 32 bytes each in flight
        self.assertAlmostEqual(roofline.seconds(few), 1e-6 + 1e6 / (2 * 256 * 32 / 0.5e-6))
        conv = small._replace(name="cudnn,forward,type=f16,n=8,h=32,c=64,k=64,r=3,stride=1,p=32")
        self.assertAlmostEqual(roofline.seconds(conv), 3e-6 + 9 * 0.13e-6)  # nine slices of 64 terms
        self.assertAlmostEqual(roofline.seconds(conv._replace(operations=10**12)), 1e-6 + 1e12 / (788e12 * 0.45))
        single = conv._replace(name=conv.name.replace("f16", "f32"), operations=10**12)
        self.assertAlmostEqual(roofline.seconds(single), 1e-6 + 1e12 / (54e12 * 0.65))
        product = small._replace(name="cublas,type=f32,m=8,n=8,k=64,count=2", operations=10**12)
        self.assertAlmostEqual(roofline.seconds(product), 1e-6 + 1e12 / (54e12 * 0.78))
        self.assertAlmostEqual(roofline.seconds(product._replace(name=product.name.replace("f32", "bf16"))),
                               1e-6 + 1e12 / (788e12 * 0.66))


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

    def test_parity_shows_the_worst_of_each_operation_and_type_the_worst_first(self):
        said = ("parity: relu f32 0.100 (output of relu)\nparity: conv2d f16 0.300 (output of conv2d 3x3)\n",
                "parity: conv2d f16 0.900 (gradient of w of conv2d 1x1)\nparity: linear f32 nan (output of linear)\n")
        text = summary.markdown(self.facts, [], [Outcome("a", "passed", 1, "", s) for s in said], "")
        self.assertIn("| operation | f32 | f16 | bf16 |\n| --- | --- | --- | --- |\n| linear | nan |  |  |\n"
                      "| conv2d |  | 0.900 |  |\n| relu | 0.100 |  |  |\n", text)

    def test_the_machine_is_described(self):
        about = Outcome("a", "passed", 1, "", "description: {\"deviceName\": \"X9\"}\n")
        text = summary.markdown(self.facts, [], [about], "", ["cuda: 1 device(s)", "cuDNN: 9.19.0"])
        self.assertIn("```\ncuda: 1 device(s)\ncuDNN: 9.19.0\n```", text)
        self.assertIn("```\n{\"deviceName\": \"X9\"}\n```", text)

    def test_what_did_not_pass_comes_first(self):
        stages = [Outcome("parity", "failed", 1), Outcome("memcheck", "missing"), Outcome("graph", "not run")]
        text = summary.markdown(self.facts, stages, [Outcome("tests_x", "failed", 1, "exit status 1")], "")
        self.assertIn("Not everything passed: parity failed, memcheck missing, graph not run.", text)
        self.assertIn("* tests_x: exit status 1", text)


class WholeRun(SimulatedMachine):
    """main() on a simulated GPU."""

    def test_everything_passes_and_is_recorded(self):
        code, out = self.main(find=lambda: device.Gpu("X9", "1.2", 2))
        self.assertEqual(code, 0, out)
        text, = self.summaries()
        self.assertIn("Everything passed.", text)
        self.assertEqual([line.split(" | ")[0][2:] for line in text.splitlines() if " | passed | " in line], run.STAGES)
        self.assertIn("* net: 5 MiB", text)
        self.assertRegex(out, "ledger record .* --grade numbers")
        self.assertRegex(text, "ledger record .* --grade sanitizers")
        self.assertIn("| darknet | 64 | fp16 | eager | 8.000 |  |  | 100 | 5 | 9 |  |", text)
        self.assertRegex(text, r"\| resnet9 \| 1024 \| fp16 \| graph \| 8.000 \| \d\.\d{3} \| 1\.\d\d \| 100 \| 5 \| 9 \| \d+ \|")
        sanitized = (self.root / "sanitized").read_text()
        for tool in ("memcheck", "racecheck", "initcheck", "synccheck"):
            self.assertIn(f"--tool={tool}", sanitized)
        self.assertTrue(all("--kernel-name kns=5learn" in line for line in sanitized.splitlines()))
        tracked = [line for line in sanitized.splitlines() if "--initcheck-track-filtered-global-memory=yes" in line]
        self.assertEqual(len(tracked), 8)
        self.assertTrue(all("--tool=initcheck" in line for line in tracked))
        self.assertTrue(all("--tool=racecheck" in line for line in sanitized.splitlines() if "--test-case-exclude" in line))
        self.assertIn("clocks.sm 1980 MHz", text)
        self.assertIn("cuDNN 9.19.0 of X9", text)
        self.assertIn("tests_cuda_ops --first=1 --last=1\n", sanitized)  # five cases in eight parts
        self.assertIn("tests_cuda_ops --first=5 --last=5\n", sanitized)
        self.assertTrue(all(line.endswith(f" {self.toolkit} X9") for line in self.ran()))

    def test_a_failed_build_runs_nothing(self):
        self.script("framework/cmake/build.sh", "exit 1")
        code, out = self.main()
        self.assertEqual((code, self.ran(), self.summaries()), (1, [], []))
        self.assertIn("error: the build failed; ", out)

    def test_what_is_missing_is_named_before_anything_runs(self):
        (self.toolkit / "libcublasLt.so.13").unlink()
        code, out = self.main()
        self.assertEqual((code, self.ran(), self.summaries()), (1, [], []))
        self.assertIn("error: libcublasLt.so.13: neither in ", out)
        self.assertNotIn("libcudnn.so.9", out)
        (self.root / "build/release/bin/tests_cuda_graph").unlink()
        code, out = self.main("--no-build")
        self.assertEqual((code, self.ran()), (1, []))
        self.assertIn("has no bin/tests_cuda_graph", out)

    def pack(self):
        """Its file; the programs are packed as they are, the commit is "abc"."""
        (self.root / "build/release/CMakeCache.txt").write_text("CMAKE_CXX_COMPILER:STRING=/usr/bin/g++-12\n")
        (self.root / "tests/lab/cuda/devices").mkdir(parents=True, exist_ok=True)
        (self.root / "tests/lab/cuda/devices/h200.json").write_text("{}")
        file = self.root / "bundle.tar.xz"
        with unittest.mock.patch.multiple(pack, ROOT=self.root, libraries_of=lambda files: {}), \
                unittest.mock.patch.object(run, "commit", lambda: "abc"), \
                unittest.mock.patch.object(sys, "argv", ["pack.py", "--build-dir", str(self.root / "build/release"), str(file)]), \
                contextlib.redirect_stdout(io.StringIO()):
            pack.main()
        return file

    def test_a_pack_runs_where_nothing_was_built(self):
        file = self.pack()
        shutil.rmtree(self.root / "build/release")
        code, out = self.main("--pack", str(file))
        self.assertEqual(code, 0, out)
        text, = self.summaries()
        self.assertIn("* commit abc\n", text)
        self.assertRegex(text, r"g\+\+-12, packed on \d{4}-\d\d-\d\d")
        own = self.root / "build/gpu/pack/lib"
        self.assertTrue(self.ran() and all(f" {own}:{self.toolkit} " in line for line in self.ran()))

    def test_a_pack_that_was_cut_off_is_refused(self):
        file = self.pack()
        file.write_bytes(file.read_bytes()[:-100])
        code, out = self.main("--pack", str(file))
        self.assertEqual((code, self.ran()), (1, []))
        self.assertIn("is not what tests/lab/gpu/pack.py makes, or not all of it", out)

    def test_a_build_without_all_programs_is_not_packed(self):
        (self.root / "build/release/bin/bench_step").unlink()
        with self.assertRaisesRegex(SystemExit, "has no bin/bench_step"):
            self.pack()

    def test_a_failure_stops_nothing_but_the_ledger(self):
        self.script("build/release/bin/tests_cuda_conv", "echo boom; exit 1")
        code, out = self.main()
        self.assertEqual(code, 1)
        text, = self.summaries()
        self.assertIn("| parity | failed |", text)
        self.assertIn("| graph | passed |", text)
        self.assertIn("| ledger | not run |", text)
        self.assertIn("* tests_cuda_conv: exit status 1", text)
        self.assertIn("boom", out)
        self.assertNotIn("ledger record", text)

    def test_a_missing_sanitizer_fails_the_run_and_is_named(self):
        code, _ = self.main(tools=False)
        self.assertEqual(code, 1)
        text, = self.summaries()
        self.assertIn("| memcheck | missing |", text)
        self.assertIn("| ledger | passed |", text)
        self.assertIn("| sanitized | not run |", text)

    def test_an_older_sanitizer_does_not_see_what_libraries_wrote(self):
        self.sanitizer("--initcheck-address-space arg")
        with unittest.mock.patch.object(library_cases, "recorded", lambda: {"tests_cuda_ops": ["b", "d, or not"]}):
            code, out = self.main("--no-build")
        self.assertEqual(code, 0, out)
        sanitized = (self.root / "sanitized").read_text().splitlines()
        self.assertFalse(any("--initcheck-track" in line for line in sanitized))
        left_out = [line for line in sanitized if "--test-case-exclude=b,d? or not" in line]
        self.assertEqual(len(left_out), 10)
        self.assertTrue(all("tests_cuda_ops" in line for line in left_out))
        self.assertEqual(sum("--tool=racecheck" in line for line in left_out), 5)
        self.assertEqual(sum("--tool=initcheck" in line for line in left_out), 5)
        text, = self.summaries()
        self.assertIn("; without 2 cases that read what a library wrote", text)

    def test_a_sanitizer_that_finds_nothing_has_failed(self):
        self.script("tools/compute-sanitizer",
                    "while [ \"${1#--}\" != \"$1\" ]; do [ $1 != --kernel-name ] || shift; shift; done; \"$@\"")
        code, out = self.main("--no-build")
        self.assertEqual(code, 1)
        text, = self.summaries()
        self.assertIn("* memcheck finds the fault 'out_of_bounds': exit status 0, not 99", text)
        self.assertIn("| sanitized | not run |", text)

    def test_a_program_that_lists_no_case_has_not_passed_a_sanitizer(self):
        self.script("build/release/bin/tests_cuda_ops", f"[ \"$1\" = --list-test-cases ] && exit 127\n"
                    f"echo a_kernel >>\"$LEARN_KERNEL_LOG\"\necho '{DOCTEST}'")
        code, _ = self.main("--no-build")
        self.assertEqual(code, 1)
        text, = self.summaries()
        self.assertRegex(text, r"\| memcheck \| failed \| .* tests_cuda_ops lists no test case, exit status 127")
        self.assertIn("| sanitized | not run |", text)

    def test_the_cases_are_listed_with_the_libraries_of_the_run(self):
        listing = self.root / "listing"
        self.script("build/release/bin/tests_cuda_ops", f"if [ \"$1\" = --list-test-cases ]; then\n"
                    f"echo $LD_LIBRARY_PATH >>'{listing}'; printf 'a\nb\n'; exit; fi\n"
                    f"echo a_kernel >>\"$LEARN_KERNEL_LOG\"\necho '{DOCTEST}'")
        code, out = self.main("--no-build")
        self.assertEqual(code, 0, out)
        self.assertEqual(set(listing.read_text().split()), {str(self.toolkit)})

    def test_a_sanitizer_that_fails_leaves_the_ledger_without_it(self):
        self.script("tools/compute-sanitizer", "exit 99")
        code, out = self.main("--no-build")
        self.assertEqual(code, 1)
        self.assertIn("--grade numbers", out)
        self.assertNotIn("--grade sanitizers", out)
        text, = self.summaries()
        self.assertIn("| sanitized | not run |", text)

    def test_a_budget_without_time_for_sanitizers_leaves_the_ledger_without_them(self):
        self.script("tools/compute-sanitizer", "[ $1 = --help ] || exec sleep 60")
        code, out = self.main("--no-build", "--budget", "15")
        self.assertEqual(code, 1)
        self.assertRegex(out, "ledger record .* --grade numbers")
        self.assertNotIn("--grade sanitizers", out)
        text, = self.summaries()
        self.assertIn("| bench | passed |", text)
        self.assertIn("nothing recorded, because of memcheck, racecheck, initcheck, synccheck", text)

    def test_no_gpu_is_status_8_at_once(self):
        def find():
            raise device.NoGpu("no such thing")
        code, out = self.main(find=find)
        self.assertEqual((code, self.summaries()), (8, []))
        self.assertIn("no such thing", out)

    def test_a_spent_budget_leaves_a_summary(self):
        code, _ = self.main("--budget", "0.000001", "--no-build")
        self.assertEqual(code, 1)
        text, = self.summaries()
        self.assertIn("| parity | not run |", text)

    def test_a_fake_run_records_nothing(self):
        code, out = self.main("--fake", "--stages", "smoke,parity,determinism,ledger")
        self.assertEqual((code, self.summaries()), (0, []), out)
        self.assertIn("ledger check", out)
        self.assertNotIn("ledger record", out)


if __name__ == "__main__":
    unittest.main()
