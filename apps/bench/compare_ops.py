#!/usr/bin/env python3
"""Compares the time of single operations and layers with PyTorch's, in turns on the same machine, as a table.

compare_ops.py [--python PYTHON] [--only REGEX] [--precision fp32] [--threads 1] [--rounds 3] [--seconds 0.2]
               [--bench build/release/bin/bench_ops]

Times are in ms: of the forward pass, and of the forward pass with the gradients of its operands; the ratio is PyTorch's time
divided by ours. If there are two operands, their gradients are timed one by one. PyTorch has the faster of its memory formats,
and keeps its memory (turns.py). Exit status 1 if PyTorch is faster at one of them.
"""
import argparse
import json
import pathlib
import re
import sys

import turns

HERE = pathlib.Path(__file__).resolve().parent
IMAGES = "64x32x32x64"
OPERATIONS = [
    *(f"{name} {IMAGES}" for name in ("abs", "clamp", "exp", "gelu", "log", "max", "max_pool", "mean", "pow", "relu", "sigmoid", "silu", "sum",
                                      "tanh", "to_nchw")),
    *(f"{name} {IMAGES} {IMAGES}" for name in ("add", "div", "mul", "concat")),
    *(f"batch_norm {shape}" for shape in (IMAGES, "64x4x4x512", "8x32x32x64")),
    *(f"layer_norm {shape}" for shape in ("8x56x56x96", "16x197x192", "4096x768")),
    f"add_bias {IMAGES} 64",
    f"mul {IMAGES} 64",
    *(f"{name} 4096x1000" for name in ("softmax", "log_softmax", "cross_entropy")),
    "cross_entropy 64x10",
    "linear 1x3072 512x3072",
    "linear 4x3072 512x3072",
    "linear 256x256 256x256",
    "matmul 1x1024 1024x1024",
    "matmul 1024x1024 1024x1024",
    "matmul 4096x8x8 4096x8x8",
    "matmul 512x32x32 512x32x32",
    "conv2d 64x32x32x64 64x3x3x64 pad=1",
    "conv2d 32x14x14x256 256x3x3x256 pad=1",
    "conv2d 8x28x28x128 256x3x3x128 pad=1 stride=2",
    "conv2d 64x32x32x30 30x3x3x30 pad=1",
    "conv2d 64x32x32x32 64x5x5x32 pad=2",
    "conv2d 8x224x224x3 64x7x7x3 pad=3 stride=2",
    # ResNet-50
    "conv2d 8x56x56x64 256x1x1x64",
    "conv2d 8x56x56x256 64x1x1x256",
    "conv2d 8x14x14x1024 256x1x1x1024",
    "conv2d 8x56x56x256 512x1x1x256 stride=2",
    # MobileNetV2 and EfficientNet-B0
    "conv2d 32x14x14x96 576x1x1x96",
    "conv2d 64x32x32x64 64x3x3x1 pad=1 groups=64",
    "conv2d 8x56x56x144 144x3x3x1 pad=1 groups=144",
    "conv2d 8x56x56x144 144x3x3x1 pad=1 stride=2 groups=144",
    "conv2d 32x14x14x384 384x3x3x1 pad=1 groups=384",
    "conv2d 8x28x28x240 240x5x5x1 pad=2 groups=240",
    "conv2d 8x14x14x672 672x5x5x1 pad=2 stride=2 groups=672",
    # ConvNeXt-Tiny
    "conv2d 8x56x56x96 96x7x7x1 pad=3 groups=96",
    "conv2d 8x14x14x384 384x7x7x1 pad=3 groups=384",
    "conv2d 8x224x224x3 96x4x4x3 stride=4",
    # grouped
    "conv2d 32x14x14x256 256x3x3x8 pad=1 groups=32",
    "conv2d 32x14x14x256 256x3x3x64 pad=1 groups=4",
]
PASSES = ("forward", "all", "first", "second")


def times(command, environment, operation, options):
    done = turns.run([*command, "--ops", operation, "--threads", options.threads, "--seconds", options.seconds, "--precision", options.precision],
                     environment)
    if done.status != 0:
        sys.exit(f"error: {operation}: {done.errors}")
    return json.loads(done.output.splitlines()[-1]), done.others


def compare(operation, options):
    """Summaries of both systems, for each pass."""
    peer, environment = [options.python, HERE / "torch_ops.py"], turns.peer_environment()
    measurements = {"learn": lambda: times([options.bench], None, operation, options)}
    for form in ("nchw", "channels_last") if operation.startswith(("batch_norm", "conv2d", "max_pool")) else ("nchw",):
        measurements[form] = lambda form=form: times([*peer, "--format", form], environment, operation, options)
    results = turns.in_turns(measurements, options.rounds)
    found = {}
    for name in PASSES:
        if name in results["learn"][0][0]:
            of = {system: turns.summary([(run[name], others) for run, others in runs]) for system, runs in results.items()}
            found[name] = of.pop("learn"), min(of.values())
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default="python3", help="a Python that has PyTorch")
    parser.add_argument("--only", default="", help="a regular expression of operations")
    parser.add_argument("--precision", choices=["fp32", "fp16", "bf16"], default="fp32")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--bench", default=HERE.parents[1] / "build/release/bin/bench_ops")
    options = parser.parse_args()
    print(turns.LEGEND + "\n\n| operation | pass | learn, ms | torch, ms | ratio |\n| --- | --- | ---: | ---: | ---: |")
    slower = 0
    for operation in (text for text in OPERATIONS if re.search(options.only, text)):
        for name, (own, other) in compare(operation, options).items():
            ratio = other.median / own.median
            slower += ratio < 1
            print(f"| {operation} | {name} | {own.shown('{:.3f}')} | {other.shown('{:.3f}')} | {ratio:.2f} |", flush=True)
    print(f"\n{slower} slower than PyTorch")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
