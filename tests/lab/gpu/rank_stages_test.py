#!/usr/bin/env python3
"""Tests of the GPU run's stages of several ranks, with programs that only print: what they start, compare, skip and report."""
import os
import pathlib
import subprocess
import sys
import time
import unittest
import unittest.mock

import device
import rank_stages
import start_ranks
from simulated_machine import DOCTEST, SimulatedMachine, write_run

START = [sys.executable, str(rank_stages.START)]


def step(ms, apart):
    return {"step_ms": ms, "apart_ms": apart}


class Ranks(unittest.TestCase):
    def start(self, ranks, script, **variables):
        return subprocess.run([*START, str(ranks), "/bin/sh", "-c", script], capture_output=True, text=True,
                              env={**os.environ, **variables}, timeout=60)

    def test_each_has_its_place_and_no_other_launcher(self):
        done = self.start(3, "echo $RANK of $WORLD_SIZE, $LOCAL_RANK, $MASTER_ADDR, ${SLURM_PROCID:-none} $OMPI_COMM_WORLD_RANK",
                          SLURM_PROCID="7", OMPI_COMM_WORLD_RANK="7")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(sorted(done.stdout.splitlines()), [f"{rank} of 3, {rank}, 127.0.0.1, none" for rank in range(3)])

    def test_all_meet_at_one_free_port(self):
        ports = set(self.start(2, "echo $MASTER_PORT").stdout.split())
        self.assertEqual(len(ports), 1)
        self.assertGreater(int(ports.pop()), 1023)

    def test_a_rank_that_fails_is_the_exit_status_and_ends_the_others(self):
        before = time.monotonic()
        with unittest.mock.patch.object(start_ranks, "GRACE", 0.3), \
                unittest.mock.patch.object(sys, "argv", ["x", "2", "/bin/sh", "-c", "[ $RANK = 0 ] || exit 9; exec sleep 50"]):
            self.assertEqual(start_ranks.main(), 9)
        self.assertLess(time.monotonic() - before, 20)
        self.assertEqual(self.start(2, "[ $RANK = 0 ] || kill -9 $$").returncode, 137)


class Figures(unittest.TestCase):
    def test_the_hidden_part_of_the_sums(self):
        self.assertEqual(rank_stages.hidden(step(9, 8), step(12, 8)), "75%")
        self.assertEqual(rank_stages.hidden(step(7, 8), step(12, 8)), "100%")
        self.assertEqual(rank_stages.hidden(step(13, 8), step(12, 8)), "0%")
        self.assertEqual(rank_stages.hidden(step(8, 8), step(8.07, 8)), "")  # noise


class Stages(SimulatedMachine):
    def main(self, *words, devices=2, **more):
        return super().main("--no-build", *(words or ("--stages", "one_rank,two_ranks")),
                            find=lambda: device.Gpu("X9", "1.2", devices), **more)

    def summary(self):
        text, = self.summaries()
        return text

    def test_one_and_two_ranks_are_tested_compared_and_measured(self):
        code, out = self.main()
        self.assertEqual(code, 0, out)
        self.assertEqual(sorted((self.root / "ranks").read_text().splitlines()), ["0 of 2 X9", "1 of 2 X9", "none of none X9"])
        text = self.summary()
        for part in ("Everything passed.", "| one_rank | passed |", "| two_ranks | passed |",
                     "* 1 rank, fp16, captured, against one process: same bits", "* 2 ranks, fp32, captured against eager: same bits",
                     "* 2 ranks, fp32, against one process: losses within 0.0e+00, 2e-05 allowed",
                     "| 1 | resnet18 | 512 | fp16 | eager | 8.000 | 8.000 | 1.000 | 100 |  |",
                     "| 2 | resnet18 | 1024 | fp16 | graph | 9.000 | 8.000 | 0.889 | 100 | 75% |"):
            self.assertIn(part, text)

    def test_all_devices_are_measured(self):
        code, out = self.main(devices=4)
        self.assertEqual(code, 0, out)
        self.assertIn("| 4 | resnet18 | 2048 | fp16 | eager |", self.summary())

    def test_one_device_skips_two_ranks_with_the_reason(self):
        code, out = self.main(devices=1)
        self.assertEqual(code, 0, out)
        text = self.summary()
        self.assertIn("Everything passed; two_ranks skipped: one device: it needs two.", text)
        self.assertIn("| one_rank | passed |", text)
        self.assertIn("| two_ranks | skipped | 0.0 s | one device: it needs two |", text)

    def test_no_nccl_skips_both_with_what_to_install(self):
        (self.toolkit / "libnccl.so.2").unlink()
        code, out = self.main()
        self.assertEqual(code, 0, out)
        text = self.summary()
        for stage in ("one_rank", "two_ranks"):
            self.assertRegex(text, rf"\| {stage} \| skipped \| .* libnccl.so.2: .*: pip install nvidia-nccl-cu13 \|")
        self.assertFalse((self.root / "ranks").exists())

    def failed(self, stage, program, note):
        """Runs all; the program fails, its stage fails, and so does the run."""
        code, out = self.main()
        self.assertEqual(code, 1, out)
        text = self.summary()
        self.assertRegex(text, rf"\| {stage} \| failed \|")
        self.assertIn(f"* {program}: {note}", text)
        return text

    def test_a_test_that_fails_on_a_rank_fails_the_run(self):
        self.script("build/release/bin/tests_cuda_nccl", f"[ ${{RANK:-0}} = 0 ] || exit 3\necho '{DOCTEST}'")
        text = self.failed("two_ranks", "tests_cuda_nccl, 2 ranks", "exit status 3")
        self.assertIn("| one_rank | passed |", text)
        self.assertNotIn("2 ranks, fp32", text)

    def test_no_test_case_fails_the_run(self):
        self.script("build/release/bin/tests_cuda_nccl", "exit 0")
        self.failed("one_rank", "tests_cuda_nccl, 1 rank", "no test case ran")

    def test_other_losses_of_two_ranks_fail_the_run(self):
        write_run(self.root / "other", [2.0, 1.5001])
        self.learn("trained", "other")
        text = self.failed("two_ranks", "compare fp32-2 with fp32-alone", "exit status 1")
        self.assertIn("* 2 ranks, fp32, against one process: losses within 6.7e-05, 2e-05 allowed", text)
        self.assertNotIn("* compare fp16-2 with fp16-alone: exit", text)  # within 2e-2

    def test_fewer_batches_and_losses_that_are_no_numbers_fail_the_run(self):
        for name, losses in (("fewer", [2.0]), ("nan", [2.0, float("nan")])):
            write_run(self.root / name, losses)
            self.learn("trained", name)
            self.failed("two_ranks", "compare fp16-2 with fp16-alone", "exit status 1")

    def test_other_weights_of_one_rank_fail_the_run(self):
        write_run(self.root / "other", [2.0, 1.5], b"\1\2\3\5")
        self.script("tools/cp", f"case $3 in *fp32-1) exec /bin/cp -r '{self.root}/other' $3;; esac; exec /bin/cp \"$@\"")
        text = self.failed("one_rank", "compare fp32-1 with fp32-alone", "exit status 1")
        self.assertIn("* 1 rank, fp32, eager, against one process: OTHER BITS", text)

    def test_steps_that_were_not_captured_fail_the_run(self):
        write_run(self.root / "eager", [2.0, 1.5])
        (self.root / "eager/run.log").write_text("warn [cuda_graph] the training step is not captured: why\n")
        self.learn("trained", "eager")
        text = self.failed("two_ranks", "compare fp32-2-captured with fp32-2", "exit status 1")
        self.assertIn("* 2 ranks, fp32, captured against eager: STEPS WERE NOT CAPTURED", text)

    def test_a_training_that_fails_fails_the_run(self):
        self.learn("trained", more="[ ${RANK:-0} = 0 ] || exit 9")
        self.failed("two_ranks", "train fp32-2", "exit status 9")

    def test_a_benchmark_that_fails_fails_the_run(self):
        self.script("build/release/bin/bench_step", "exit 1")
        self.failed("one_rank", "bench_ranks 0", "exit status 1")


if __name__ == "__main__":
    unittest.main()
