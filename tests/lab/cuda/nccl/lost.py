#!/usr/bin/env python3
"""Failures of `learn train` in several ranks on the fake CUDA runtime: lost.py LIBFAKECUDA LEARN [MPIRUN] [--only PATTERN] [--show].

Each case injects a failure and checks what the user reads, the exit code, the time, and that the last checkpoint is whole and loads.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import signal
import socket
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "apps"))
import harness  # noqa: E402
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


CASES = [torch_killed(1, 2), torch_killed(1, 2, "hang:200"), torch_killed(0, 2, "hang:200", graph=True), torch_killed(2, 3, "hang:200")]


def main():
    suite = Suite(__doc__.splitlines()[0])

    def play(i):
        folder = suite.folder / str(i)
        folder.mkdir()
        try:
            CASES[i](suite, folder)
        except Exception as problem:  # one case must not hide the others
            suite.check(f"case {i} ({CASES[i].__qualname__}): {problem!r}", False)

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(play, i) for i in range(len(CASES)) if re.search(suite.options.only, CASES[i].__qualname__)]:
            done.result()
    suite.conclude()


main()
