#!/usr/bin/env python3
"""Compares the training speed with PyTorch's, in turns on the same machine, as a table; --json FILE saves every run.

compare.py [--device cpu]        images/s of both, in fp32 or --precisions; for PyTorch, the best of its two memory formats and,
                                 in half precision, of half weights and autocast; --torch-modes eager,compile adds compiled
                                 nets
compare.py --device cuda         one model and precision: eager and as one graph, next to PyTorch in channels_last, eager,
                                 compiled and with max-autotune, with half weights ("fp16") and under autocast
                                 ("fp16-amp"). It ends within --budget seconds, by default 480, and omits measurements that
                                 do not fit. Use --models resnet9:1024 --precisions bf16 for others, one or several
A step is the forward and backward pass and SGD with momentum on one synthetic batch. If --python does not have a PyTorch
that supports the device, only learn is measured, and the output says so.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import time

import turns

HERE = pathlib.Path(__file__).resolve().parent
MODELS = {"cpu": "darknet:64,resnet9:64,resnet18:64", "cuda": "resnet18:512"}
TORCH_PRECISIONS = {"fp32": ["fp32"], "tf32": ["tf32"], "fp16": ["fp16", "fp16-amp"], "bf16": ["bf16", "bf16-amp"],
                    "fp16-amp": ["fp16-amp"], "bf16-amp": ["bf16-amp"]}


class Bench:
    """Runs both programs and keeps their output."""

    def __init__(self, options):
        self.options, self.runs = options, []
        self.deadline = time.monotonic() + options.budget if options.budget else None
        self.common = ["--device", options.device, "--seconds", options.seconds, "--windows", options.windows,
                       "--warm-up", options.warm_up, "--image-size", options.image_size]
        if options.threads:
            self.common += ["--threads", options.threads]
        self.torch = self.find_torch()

    def find_torch(self):
        """Returns PyTorch's version, or None if it is missing or cannot use the device."""
        test = "import torch; assert torch.cuda.is_available(); " if self.options.device == "cuda" else "import torch; "
        try:
            found = subprocess.run([self.options.python, "-c", test + "print(torch.__version__)"], capture_output=True,
                                   text=True)
        except OSError:
            return None
        return found.stdout.strip() if found.returncode == 0 else None

    def run(self, program, environment, **words):
        command = [*program, *self.common]
        for name, value in words.items():
            command += [f"--{name}"] if value is True else [f"--{name}", value]
        left = self.deadline - time.monotonic() if self.deadline else None
        try:
            if left is not None and left <= 0:
                raise subprocess.TimeoutExpired(command, 0)
            done = turns.run(command, environment, left)
        except subprocess.TimeoutExpired:
            print(f"left out, as the time was up: {' '.join(str(w) for w in command)}", file=sys.stderr, flush=True)
            return {"failed": "the time was up", **words}
        if done.status != 0:
            reason = (done.errors.strip().splitlines() or ["no reason given"])[-1]
            print(f"failed: {' '.join(str(w) for w in command)}: {reason}", file=sys.stderr, flush=True)
            return {"failed": reason, **words}
        self.runs.append({**json.loads(done.output.strip().splitlines()[-1]), "others": round(done.others, 2)})
        return self.runs[-1]

    def learn(self, **words):
        return self.run([self.options.bench], None, **words)

    def pytorch(self, **words):
        return self.run([self.options.python, HERE / "torch_step.py"], turns.peer_environment(), **words) if self.torch else {}

    def rounds(self, *measurements):
        """Runs each measurement once per round, alternating; returns the median run of each, with its "summary"."""
        taken = turns.in_turns(dict(enumerate(measurements)), self.options.rounds)
        return [middle(runs) for runs in taken.values()]


def middle(runs):
    good = [run for run in runs if "images_per_s" in run]
    summary = turns.summary([(run["images_per_s"], run["others"]) for run in good])
    return next(({**run, "summary": summary} for run in good if run["images_per_s"] == summary.median), {})


def shown(run, key, form="{:.1f}", scale=1.0):
    return form.format(run[key] * scale) if key in run else "-"


def spread(run):
    return run["summary"].shown() if run else "-"


def ratio(a, b):
    return f"{a['images_per_s'] / b['images_per_s']:.2f}" if a and b else "-"


def compare_on_cpu(bench, models):
    print(turns.LEGEND + "\n\n| model | batch | precision | learn, images/s | torch | ratio | forward / backward / update, ms |\n" +
          "| --- " * 7 + "|")
    for model, batch in models:
        for precision in bench.options.precisions:
            words = {"model": model, "batch": batch}
            peers = [(p, form, mode) for p in TORCH_PRECISIONS[precision] for form in ("nchw", "channels_last")
                     for mode in bench.options.torch_modes]
            ours, *theirs = bench.rounds(
                lambda: bench.learn(**words, precision=precision),
                *[lambda p=p, form=form, mode=mode: bench.pytorch(**words, precision=p, format=form, mode=mode) for p, form, mode in peers])
            best = max(theirs, key=lambda run: run.get("images_per_s", 0))
            phases = " / ".join(shown(ours, f"{phase}_ms") for phase in ("forward", "backward", "update"))
            print(f"| {model} | {batch} | {precision} | {spread(ours)} | {spread(best)} | "
                  f"{ratio(ours, best)} | {phases} |", flush=True)


def compare_on_cuda(bench, models):
    options = bench.options
    head = ["model", "batch", "precision", "eager, ms", "graph, ms", "graph, images/s", "min to max",
            "host per step, us: eager", "graph", "operations", "device MiB: eager", "graph"]
    for precision in ("torch", "torch-amp"):
        head += [f"{precision} {mode}, ms" for mode in options.torch_modes]
    head += ["torch MiB", "graph / best torch eager"]
    print("| " + " | ".join(head) + " |\n" + "| --- " * len(head) + "|")
    for model, batch in models:
        for precision in options.precisions:
            words = {"model": model, "batch": batch}
            own = {**words, "precision": precision, **({} if options.tune else {"no-tune": True})}
            peers = [(p, mode) for p in TORCH_PRECISIONS[precision] for mode in options.torch_modes]
            eager, graph, *theirs = bench.rounds(
                lambda: bench.learn(**own), lambda: bench.learn(**own, graph=True),
                *[lambda p=p, mode=mode: bench.pytorch(**words, precision=p, mode=mode) for p, mode in peers])
            eager_peers = [run for run, (_, mode) in zip(theirs, peers) if mode == "eager" and run]
            best = max(eager_peers, key=lambda run: run["images_per_s"], default={})
            row = [model, batch, precision, shown(eager, "step_ms", "{:.3f}"), shown(graph, "step_ms", "{:.3f}"),
                   shown(graph, "images_per_s", "{:.0f}"),
                   f"{shown(graph, 'worst', '{:.0f}')} to {shown(graph, 'best', '{:.0f}')}",
                   shown(eager, "host_wall_us"), shown(graph, "host_wall_us"), shown(graph, "operations", "{:.0f}"),
                   shown(eager, "device_bytes", "{:.0f}", 2**-20), shown(graph, "device_bytes", "{:.0f}", 2**-20),
                   *[shown(run, "step_ms", "{:.3f}") for run in theirs],
                   *["-"] * (2 * len(options.torch_modes) - len(theirs)),
                   shown(best, "device_bytes", "{:.0f}", 2**-20), ratio(graph, best)]
            print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--models", help="NAME:BATCH,..., of names of torch_models.py such as resnet50:stem=imagenet")
    parser.add_argument("--image-size", type=int, default=32)
    parser.add_argument("--precisions", type=lambda text: text.split(","), help="default: fp32 on the CPU, fp16 on a GPU")
    parser.add_argument("--torch-modes", type=lambda text: text.split(","), help="default: eager; on a GPU eager,compile,max-autotune")
    parser.add_argument("--no-tune", dest="tune", action="store_false",
                        help="trust cuDNN's guess instead of timing its candidates, as PyTorch always does here")
    parser.add_argument("--budget", type=float, help="seconds in total; default: 480 on a GPU, unlimited on the CPU")
    parser.add_argument("--rounds", type=int, help="default: 3 on the CPU, 1 on a GPU")
    parser.add_argument("--seconds", type=float, help="seconds of one run; default: 5 on the CPU, 2.5 on a GPU")
    parser.add_argument("--windows", type=int, default=5)
    parser.add_argument("--warm-up", type=int, help="steps; default: 3 on the CPU, 20 on a GPU")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--bench", default=str(HERE.parents[1] / "build/release/bin/bench_step"))
    parser.add_argument("--python", default="python3", help="a Python that has PyTorch")
    parser.add_argument("--json", type=pathlib.Path, help="all runs, one object per line")
    options = parser.parse_args()
    on_cpu = options.device == "cpu"
    options.models = options.models or MODELS[options.device]
    options.precisions = options.precisions or (["fp32"] if on_cpu else ["fp16"])
    if unknown := set(options.precisions) - set(TORCH_PRECISIONS):
        parser.error(f"--precisions: {', '.join(sorted(unknown))}; must be of {', '.join(TORCH_PRECISIONS)}")
    options.torch_modes = options.torch_modes or (["eager"] if on_cpu else ["eager", "compile", "max-autotune"])
    options.budget = options.budget or (None if on_cpu else 480)
    options.rounds = options.rounds or (3 if on_cpu else 1)
    options.seconds = options.seconds or (5 if on_cpu else 2.5)
    options.warm_up = options.warm_up or (3 if on_cpu else 20)
    return options


def main():
    options = read_options()
    bench = Bench(options)
    models = [(name, int(batch or 64)) for name, batch in (re.fullmatch(r"(.*?)(?::(\d+))?", word).groups() for word in options.models.split(","))]
    print(f"{options.rounds} rounds of {options.windows} windows, {options.seconds:g} s each round; "
          + (f"PyTorch {bench.torch}" if bench.torch else
             f"no PyTorch: {options.python} has none that can use the {options.device}") + "\n", flush=True)
    (compare_on_cpu if options.device == "cpu" else compare_on_cuda)(bench, models)
    if options.json:
        options.json.write_text("".join(json.dumps(run) + "\n" for run in bench.runs))
    sys.exit(0 if bench.runs else 1)


main()
