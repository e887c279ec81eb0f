"""Stages for data parallel: one rank with the real NCCL, and two ranks where two devices are."""
import json
import pathlib
import sys

import libraries
from jobs import Job, Outcome

NCCL = "libnccl.so.2"
TESTS = "tests_cuda_nccl"
START = pathlib.Path(__file__).with_name("start_ranks.py")
COMPARE = pathlib.Path(__file__).with_name("compare_trainings.py")
# The last batch of an epoch has 3 samples. SGD at a low rate does not amplify rounding.
TRAIN = ("train --device cuda --data synthetic10 --model small --width 4 --train-limit 43 --valid-limit 11 --batch-size 8 --epochs 2 "
         "--optimizer sgd --lr 0.01 --no-winograd --sync-bn --no-report --no-plots --no-progress --rank-timeout 60").split()
# Precision -> allowed relative difference of losses, as in tests/lab/cuda/nccl/training.py.
DEVIATION = {"fp32": 2e-5, "fp16": 2e-2}
BENCH, BATCH = "resnet18", 512  # images of each rank
FAKE_BENCH, FAKE_BATCH = "small", 4


def nccl_problem(names, own):
    """Why NCCL cannot be loaded, and what to install; empty if it can."""
    try:
        libraries.path_for([*names, NCCL], own)
        return ""
    except libraries.Missing as missing:
        major = names[-1].rpartition(".")[2]
        return f"{missing}; install it: pip install nvidia-nccl-cu{major}"


def skipped(run, name, devices):
    """The stage's outcome if it cannot run here, or None."""
    if run.nccl_problem:
        return Outcome(name, "skipped", 0, run.nccl_problem)
    if run.gpu.count < devices:
        return Outcome(name, "skipped", 0, "one device: it needs two")
    return None


def name_of(precision, ranks, graph):
    return f"{precision}-{ranks or 'alone'}{'-captured' * graph}"


class Commands:
    """Programs of the build, with the ranks' launcher, or without it for 0 ranks. Few and small ones on the fake runtime."""

    def __init__(self, run):
        self.run, self.trainings = run, run.logs / "trainings"
        self.precisions = ["fp32"] if run.fake else list(DEVIATION)
        self.modes = [True] if run.fake else [False, True]

    def command(self, ranks, program, words=()):
        # The fake runtime is for the ranks, and not for the launcher.
        fake = [f"LD_PRELOAD={self.run.place / self.run.FAKE_RUNTIME}"] if self.run.fake else []
        start = [sys.executable, str(START), str(ranks)] if ranks else []
        return [*start, "env", "NCCL_DEBUG=WARN", *fake, str(self.run.place / "bin" / program), *words]

    def train(self, precision, ranks, graph=False):
        name = name_of(precision, ranks, graph)
        words = [*TRAIN, "--precision", precision, *["--cuda-graph"] * graph, "--out", str(self.trainings), "--name", name]
        return Job(f"train {name}", self.command(ranks, "learn", words), 120, self.run.variables())

    def compare(self, title, deviation, name, other):
        return Job(f"compare {name} with {other}", [sys.executable, str(COMPARE), title, str(deviation), str(self.trainings / name),
                                                    str(self.trainings / other)], 60)

    def bench(self, ranks, graph, overlap=True):
        model, batch = (FAKE_BENCH, FAKE_BATCH) if self.run.fake else (BENCH, BATCH)
        words = ["--model", model, "--batch", str(batch * max(ranks, 1)), "--device", "cuda", "--precision", "fp16",
                 *["--graph"] * graph, *["--no-overlap"] * (not overlap),
                 *("--width 4 --windows 2 --warm-up 1 --seconds 0.02".split() if self.run.fake else [])]
        name = f"bench_ranks {ranks}{' graph' * graph}{' no overlap' * (not overlap)}"
        return Job(name, self.command(ranks, "bench_step", words), 180, self.run.variables())


def one_rank(run):
    """Outcome of NCCL with one rank, and of a training as one rank, which has the bits and the speed of one without a launcher."""
    if outcome := skipped(run, "one_rank", 1):
        return outcome
    commands = Commands(run)
    work = [run.test(TESTS, name=f"{TESTS}, 1 rank")]
    for precision in commands.precisions:
        work.append(commands.train(precision, 0))
        for graph in (False, True):
            work += [commands.train(precision, 1, graph),
                     commands.compare(f"1 rank, {precision}, {'captured' if graph else 'eager'}, against one process", 0,
                                      name_of(precision, 1, graph), name_of(precision, 0, False))]
    return run.all_of("one_rank", work + [commands.bench(ranks, graph) for graph in commands.modes for ranks in (0, 1)], 1)


def two_ranks(run):
    """Outcome of NCCL with two ranks, of trainings against one process, and of the efficiency, also with all devices."""
    if outcome := skipped(run, "two_ranks", 2):
        return outcome
    commands = Commands(run)
    tests = run.all_of("two_ranks", [Job(f"{TESTS}, 2 ranks", commands.command(2, TESTS), 180,
                                         {**run.variables(), "LEARN_EXPECT_DEVICE": run.gpu.name}, True)], 1)
    if not tests.good:
        return tests  # the others would wait for ranks, too
    work = []
    for precision in commands.precisions:
        alone, eager, captured = name_of(precision, 0, False), name_of(precision, 2, False), name_of(precision, 2, True)
        work += [*([] if (commands.trainings / alone).exists() else [commands.train(precision, 0)]),
                 commands.train(precision, 2), commands.train(precision, 2, True),
                 commands.compare(f"2 ranks, {precision}, against one process", DEVIATION[precision], eager, alone),
                 commands.compare(f"2 ranks, {precision}, captured against eager", 0, captured, eager)]
    return run.all_of("two_ranks", work + [commands.bench(ranks, graph, overlap) for ranks in sorted({2, run.gpu.count})
                                           for graph in commands.modes for overlap in (True, False)], 1)


def figures(outcomes):
    """Figures that bench_step printed: (ranks, mode, overlap) -> figures; 0 ranks: without the launcher."""
    found = {}
    for outcome in outcomes:
        lines = [line for line in outcome.output.splitlines() if line.startswith("{")]
        if not outcome.name.startswith("bench_ranks ") or not outcome.good or not lines:
            continue
        said = json.loads(lines[-1])
        found[int(outcome.name.split()[1]), said["mode"], said.get("overlap", True)] = said
    return found


def hidden(together, after):
    """The part of the sums' time that the backward pass hides: the steps with sums during it, and those with sums after it, are each
    compared with the same ranks apart. Empty if sums after it take less than 1 % of a step, which noise exceeds."""
    cost = after["step_ms"] - after["apart_ms"]
    if cost < 0.01 * after["step_ms"]:
        return ""
    visible = (together["step_ms"] - together["apart_ms"]) / cost
    return f"{1 - min(max(visible, 0.0), 1.0):.0%}"


def rows(outcomes):
    """Rows of the summary's table."""
    found = figures(outcomes)
    table = []
    for (ranks, mode, overlap), said in sorted(found.items(), key=lambda item: item[0][:2]):
        alone, after = found.get((0, mode, True)), found.get((ranks, mode, False))
        if not overlap or ranks == 0:
            continue
        compared = said.get("apart_ms") or (alone["step_ms"] if alone else None)
        efficiency = f"{compared / said['step_ms']:.3f}" if compared else ""
        table.append([str(ranks), said["model"], str(said["batch"]), said["precision"], mode, f"{said['step_ms']:.3f}",
                      f"{compared:.3f}" if compared else "", efficiency, f"{said['images_per_s']:.0f}",
                      hidden(said, after) if after and "apart_ms" in said else ""])
    return table


COLUMNS = ["ranks", "net", "batch", "precision", "mode", "ms", "ms without exchange", "efficiency", "images/s",
           "sums hidden by the backward pass"]
