#!/usr/bin/env python3
"""Checks the work of a training step on a GPU against tests/lab/gpu/steps.md, and predicts its time.

step_costs.py check BUILD_DIR [FAKE]   fails if a step has more nodes or more traffic than in the file, or less:
                                       then update the file
step_costs.py write BUILD_DIR [FAKE]   writes the file

Every net is trained for a few steps at its real size under the fake CUDA runtime, whose survey (FAKE_CUDA_SURVEY) lists
what each node of the step's graph reads and writes; roofline.py estimates the time. FAKE replaces the fake runtime of
the build, to analyse an older build.
"""
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile
from collections import defaultdict
from typing import NamedTuple

import fat_binary
import kernel_budget
import roofline

STEPS = pathlib.Path(__file__).with_name("steps.md")
TOLERANCE = 0.005  # of bytes; nodes are counted exactly
TIMEOUT = 240


class Net(NamedTuple):
    model: str
    batch: int
    precision: str = "fp16"

    @property
    def title(self):
        return f"{self.model}, batch {self.batch}, {self.precision}"


# One of them in every precision: what each way of training costs in launches.
NETS = [Net("darknet", 64), Net("resnet18", 512), Net("resnet9", 1024),
        *(Net("resnet9", 512, precision) for precision in ("fp32", "fp16", "bf16", "fp16-amp", "bf16-amp", "pure-fp16", "pure-bf16"))]

HEAD = """# Work and predicted time of a training step

One step of each net, fp16 with the loss scale, SGD with momentum, as a graph, at 32 x 32 pixels and 10 classes: nodes of
the graph, bytes of global memory with caches that are perfect within a node and empty between two, and floating-point
operations of convolutions and products. They are counted under the fake CUDA runtime, at these sizes. The time is a
prediction by `tests/lab/gpu/roofline.py` for an H200, not a measurement. It does not include cuDNN's helper kernels, which
are unknown here; in fp32 those that change the layout take a noticeable part. Written by `tests/lab/gpu/step_costs.py`,
which also compares the code with it.
"""
COLUMNS = ["net", "batch", "precision", "nodes", "MB read", "MB written", "GFLOP", "predicted ms", "images/s"]


class Step(NamedTuple):
    """The first table's row of a net."""
    net: Net
    nodes: int
    read: float  # MB
    written: float
    gflop: float
    milliseconds: float

    def cells(self):
        rate = self.net.batch / self.milliseconds * 1e3
        return [self.net.model, str(self.net.batch), self.net.precision, str(self.nodes), f"{self.read:.1f}", f"{self.written:.1f}",
                f"{self.gflop:.1f}", f"{self.milliseconds:.3f}", f"{rate:.0f}"]


def survey(net, build, fake, *words):
    """The operations of one step."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "survey"
        command = [str(build / "bin/bench_step"), "--model", net.model, "--batch", str(net.batch), "--device", "cuda",
                   "--precision", net.precision, "--graph", "--warm-up", "4", "--windows", "1", "--seconds", "0.001", *words]
        ran = subprocess.run(command, env={**os.environ, "LD_PRELOAD": str(fake), "FAKE_CUDA_SURVEY": str(file)},
                             capture_output=True, text=True, timeout=TIMEOUT)
        if ran.returncode != 0 or not file.exists():
            sys.exit(f"error: {' '.join(command)}: exit status {ran.returncode}\n{ran.stderr}")
        return roofline.read_survey(file)


def step_of(net, operations):
    return Step(net, len(operations), sum(o.read for o in operations) / 1e6, sum(o.written for o in operations) / 1e6,
                sum(o.operations for o in operations) / 1e9, sum(map(roofline.seconds, operations)) * 1e3)


def groups(operations):
    """Operations by what they are, the costliest first."""
    found = defaultdict(list)
    names = dict(zip((o.name for o in operations), fat_binary.demangle(o.name for o in operations)))
    for operation in operations:
        if operation.name.startswith("cudnn,"):
            found[f"cuDNN {roofline.sizes_of(operation.name).kind}"].append(operation)
        elif operation.name.startswith("cublas,"):
            found["cuBLASLt"].append(operation)
        else:
            name = names[operation.name].replace("(anonymous namespace)::", "")
            found[operation.name if operation.name in ("copy", "set") else kernel_budget.plain(name)].append(operation)
    return sorted(found.items(), key=lambda item: -sum(map(roofline.seconds, item[1])))


def table(header, rows):
    numbers = ["---" if i == 0 else "---:" for i in range(len(header))]
    return ["", *(f"| {' | '.join(cells)} |" for cells in [header, numbers, *rows])]


def markdown(surveyed):
    lines = [HEAD.rstrip()] + table(COLUMNS, [step_of(net, operations).cells() for net, operations in surveyed])
    for net, operations in surveyed:
        whole = sum(map(roofline.seconds, operations))
        lines += ["", f"## {net.title}"]
        rows = []
        for name, group in groups(operations):
            time = sum(map(roofline.seconds, group))
            rows.append([f"`{name}`" if name.endswith("kernel") else name, str(len(group)),
                         f"{sum(o.bytes for o in group) / 1e6:.1f}", f"{sum(o.operations for o in group) / 1e9:.1f}",
                         f"{time * 1e6:.0f}", f"{time / whole:.1%}"])
        lines += table(["node", "nodes", "MB", "GFLOP", "predicted us", "share"], rows)
    return "\n".join(lines) + "\n"


def recorded(text):
    """The rows of the first table: net -> Step."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    steps = [Step(Net(row[0], int(row[1]), row[2]), int(row[3]), *map(float, row[4:8]))
             for row in rows if len(row) == len(COLUMNS) and row[1].isdigit()]
    return {step.net: step for step in steps}


def complaints(now, before):
    """Differences from the file, as text."""
    name = now.net.title
    if before is None:
        return [f"{name} is not in {STEPS.name}"]
    found = []
    if now.nodes != before.nodes:
        found.append(f"{name}: {now.nodes} nodes, {STEPS.name} says {before.nodes}")
    for what, is_now, was in [("MB read", now.read, before.read), ("MB written", now.written, before.written),
                              ("GFLOP", now.gflop, before.gflop)]:
        if abs(is_now - was) > TOLERANCE * was:
            found.append(f"{name}: {is_now:.1f} {what}, {STEPS.name} says {was:.1f}")
    return found


def main():
    if len(sys.argv) not in (3, 4) or sys.argv[1] not in ("check", "write"):
        sys.exit(__doc__)
    build = pathlib.Path(sys.argv[2])
    fake = pathlib.Path(sys.argv[3]) if len(sys.argv) == 4 else build / "tests/lab/cuda/fake/libfakecuda.so"
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        one_rank = pool.submit(survey, NETS[0], build, fake, "--one-rank")
        surveyed = list(zip(NETS, pool.map(lambda net: survey(net, build, fake), NETS)))
    if sys.argv[1] == "write":
        STEPS.write_text(markdown(surveyed))
        return
    if one_rank.result() != surveyed[0][1]:
        sys.exit(f"{NETS[0].title}: DataParallel with one rank does not have the nodes and bytes of a training without it")
    before = recorded(STEPS.read_text())
    found = [line for net, operations in surveyed for line in complaints(step_of(net, operations), before.get(net))]
    if found:
        sys.exit("\n".join(found) + f"\nIf that is meant, say why in the commit and run: {sys.argv[0]} write BUILD_DIR")
    print(f"{len(surveyed)} steps do what {STEPS.name} says, and one rank of DataParallel costs nothing")


if __name__ == "__main__":
    main()
