#!/usr/bin/env python3
"""Failures of `learn train` in several ranks on the fake CUDA runtime: lost.py LIBFAKECUDA LEARN [MPIRUN] [--only PATTERN] [--show].

Each case injects a failure and checks what the user reads, the exit code, the time, and that the last checkpoint is whole and loads.
"""
import json
import os
import pathlib
import re
import signal
import socket
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "apps"))
from launches import INTERNAL, RANKS, Launch, Suite, named  # noqa: E402

FAKE = os.path.realpath(sys.argv.pop(1))
SHORT = ("--device cuda --data synthetic10 --model small --width 4 --train-limit 43 --valid-limit 11 --batch-size 8 --sync-bn "
         "--save-every 2 --no-report --no-plots").split()
ENDLESS = [*SHORT, "--epochs", "100000"]
SOON = 5  # seconds, far below --rank-timeout's default

# Starts the command after it in processes with torchrun's variables. Its exit code is the greatest of those that no signal ended.
TORCHRUN = """for rank in $(seq 0 $(($0 - 1))); do
  RANK=$rank LOCAL_RANK=$rank WORLD_SIZE=$0 LOCAL_WORLD_SIZE=$0 MASTER_ADDR=127.0.0.1 MASTER_PORT=$1 "$2" "$3" & pids="$pids $!"
done
code=0
for pid in $pids; do wait "$pid"; got=$?; [ $got -ge 128 ] || [ $got -le $code ] || code=$got; done
exit $code"""


class GpuLaunch(Launch):
    """Ranks with a device each. `words`: of each rank, or of all. `faults`: of the fake NCCL."""

    def __init__(self, suite, folder, *words, ranks=2, graph=False, faults="", more=()):
        before = ["env", f"LD_PRELOAD={FAKE}", f"FAKE_CUDA_DEVICES={ranks}", f"FAKE_NCCL={faults}"]
        apps = [{"before": before, "words": one} for one in (words if len(words) == ranks else [words[0] if words else ENDLESS] * ranks)]
        super().__init__(suite, folder, *apps, more=[*(["--cuda-graph"] if graph else []), *more])


class TorchLaunch(GpuLaunch):
    """Ranks that a launcher of torchrun starts: they have its variables."""

    def launcher(self, ranks, options):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            return ["sh", "-c", TORCHRUN, str(ranks), str(free.getsockname()[1])]


def torch_killed(rank, ranks, faults="", graph=False):
    """With `faults`, of the second epoch, the others wait for their devices at that time."""
    def case(suite, folder):
        launch = TorchLaunch(suite, folder, ranks=ranks, graph=graph, faults=faults, more=["--rank-timeout", "50"])
        pids = launch.wait_for_epochs(1)
        if faults:
            time.sleep(3)
        launch.begin = time.monotonic()
        os.kill(pids[rank], signal.SIGKILL)
        what = f"torchrun: SIGKILL of rank {rank} of {ranks}" + (", in a sum" if faults else "") + (", captured" if graph else "")
        # In processes without a launcher that ends the others, each of them says so.
        got, output, seconds = launch.end()
        suite.check(f"{what}: each other rank names it", all(
            re.search(rf"error: {named(other)}: the process of {named(rank)} ended or its host was lost: it is missing in |"
                      rf"{named('.')} ended all ranks with exit code {RANKS}", output) for other in range(ranks) if other != rank), output)
        suite.judge(what, launch, RANKS, checkpoint="loads", within=SOON)
    return case


def name_of(what, graph):
    return f"{what}, {'captured' if graph else 'eager'}"


def killed(rank, graph):
    def case(suite, folder):
        launch = GpuLaunch(suite, folder, graph=graph)
        os.kill(launch.wait_for_epochs(2)[rank], signal.SIGKILL)
        suite.judge(name_of(f"SIGKILL of rank {rank}", graph), launch, 137, rf"rank {rank} with PID \d+ on node \S+ exited on\s+signal 9",
                    checkpoint="loads")
    return case


def stopped(rank, ranks, graph):
    """The others find it on the host, or wait for its sums first."""
    def case(suite, folder):
        launch = GpuLaunch(suite, folder, ranks=ranks, graph=graph, more=["--rank-timeout", "5"])
        os.kill(launch.wait_for_epochs(2)[rank], signal.SIGSTOP)
        suite.judge(name_of(f"SIGSTOP of rank {rank} of {ranks}", graph), launch, RANKS,
                    rf"error: {named('.')}: (NCCL failed at {named('.')} during .* did not end within 5 s; )?{named(rank)} "
                    r"(did not come to .* within [57] s|stopped during .*: nothing came for 5 s, and no answer)", checkpoint="loads")
    return case


def failed_sum(fault, text):
    """The fake NCCL fails in rank 1 only. The errors of all ranks name it."""
    def case(suite, folder):
        launch = GpuLaunch(suite, folder, faults=f"{fault}:150@1", more=["--rank-timeout", "3"])
        launch.wait_for_epochs(1)
        what = f"NCCL on rank 1: {fault}"
        _, output = suite.judge(what, launch, RANKS, checkpoint="loads", within=15)
        lines = [line for line in output.splitlines() if line.startswith("error: ")]
        suite.check(f"{what}: each error names it", lines and all(re.search(rf"NCCL failed at {named(1)} during .*{text}", line) for line in lines), output)
    return case


def terminated(suite, folder):
    """mpirun gives the ranks 0.25 s, or 2 s in version 4, which may be too short for the state."""
    launch = GpuLaunch(suite, folder)
    launch.wait_for_epochs(2)
    launch.process.send_signal(signal.SIGTERM)
    suite.judge("SIGTERM to mpirun", launch, None, checkpoint="loads", within=10)


def interrupted(graph):
    def case(suite, folder):
        launch = GpuLaunch(suite, folder, graph=graph)
        launch.wait_for_epochs(3)
        launch.process.send_signal(signal.SIGUSR2)
        suite.judge(name_of("SIGUSR2 to mpirun", graph), launch, 128 + signal.SIGUSR2, "interrupted after a whole batch", checkpoint="loads",
                    status="interrupted")
    return case


def interrupted_rank(suite, folder):
    launch = GpuLaunch(suite, folder, graph=True)
    os.kill(launch.wait_for_epochs(3)[1], signal.SIGTERM)
    suite.judge("SIGTERM to rank 1 only, captured", launch, 143, "interrupted after a whole batch", checkpoint="loads", status="interrupted")


def overflow(precision, graph):
    """In the share of rank 1 only, in the gradient of one half weight: all ranks skip this step."""
    def case(suite, folder):
        words = [*SHORT, "--epochs", "4", "--precision", precision]
        launch = GpuLaunch(suite, folder, words, [*words, "--inject", "overflow@15:prep.conv"], graph=graph)
        what = name_of(f"overflow on rank 1, {precision}", graph)
        suite.judge(what, launch, 0, checkpoint="loads", status="finished")
        lines = [json.loads(line) for line in (launch.run / "metrics.jsonl").read_text().splitlines()]
        batches = [line for line in lines if "batch" in line]
        skipped = [i for i, line in enumerate(batches, 1) if line["skipped"]]
        scales = [line["loss_scale"] for line in batches]
        suite.check(f"{what}: one step is skipped", skipped == [15], f"{skipped}")
        suite.check(f"{what}: the scale is halved", scales[-1] == scales[0] / 2, f"{scales}")
    return case


def thrown(rank, graph):
    def case(suite, folder):
        words = [ENDLESS] * 2
        words[rank] = [*ENDLESS, "--inject", "throw@20:backward_begin"]
        suite.judge(name_of(f"rank {rank} throws", graph), GpuLaunch(suite, folder, *words, graph=graph), INTERNAL,
                    rf"error: {named(rank)}: .*inject: thrown at", checkpoint="loads", status="crashed" if rank == 0 else None, within=30)
    return case


CASES = [killed(1, False), killed(0, True), stopped(1, 2, False), stopped(1, 2, True), stopped(0, 2, False), stopped(2, 3, True),
         failed_sum("remote", "remote process exited"), failed_sum("timeout", "timeout"), terminated, interrupted(False),
         interrupted(True), interrupted_rank, overflow("fp16", False), overflow("fp16", True), overflow("fp16-amp", False), thrown(0, False),
         thrown(1, True), torch_killed(1, 2), torch_killed(1, 2, "hang:200"), torch_killed(0, 2, "hang:200", graph=True), torch_killed(2, 3, "hang:200")]


Suite(__doc__.splitlines()[0]).play(CASES, at_once=2)
