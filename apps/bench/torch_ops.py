#!/usr/bin/env python3
"""Times in PyTorch what bench_ops times: one JSON object per operation.

torch_ops.py --ops 'softmax 4096x1000;...' [--threads 1] [--seconds 0.2] [--format channels_last|nchw]
             [--precision fp32|fp16|bf16]
Images and windows (N,H,W,C) of the requests become PyTorch's (N,C,H,W) in the memory format.
"""
import argparse
import json
import math
import statistics
import time

import torch
from torch.nn import functional


def conv2d(x, w, options):
    return functional.conv2d(x, w, stride=int(options.get("stride", 1)), padding=int(options.get("pad", 0)), groups=int(options.get("groups", 1)))


def batch_norm(x):
    """Batch normalization with relu, and with gradients of its weights wherever x has one."""
    weight, bias = (torch.full((x.shape[1],), value, requires_grad=x.requires_grad) for value in (1.0, 0.0))
    return functional.batch_norm(x, torch.zeros(x.shape[1]), torch.ones(x.shape[1]), weight, bias, training=True).relu_()


def layer_norm(x):
    """Layer normalization, with gradients of its weights wherever x has one."""
    weight, bias = (torch.full((x.shape[-1],), value, requires_grad=x.requires_grad) for value in (1.0, 0.0))
    return functional.layer_norm(x, (x.shape[-1],), weight, bias)


def axis(options):
    return int(options.get("axis", -1))


OPERATIONS = {
    "abs": lambda x, o: x.abs(),
    "add": lambda a, b, o: a + b,
    "add_bias": lambda a, b, o: a + b,
    "batch_norm": lambda x, o: batch_norm(x),
    "clamp": lambda x, o: x.clamp(0.25, 0.75),
    "concat": lambda a, b, o: torch.cat((a, b), axis(o)),
    "conv2d": conv2d,
    "cross_entropy": lambda x, o: functional.cross_entropy(x, torch.arange(x.shape[0]) % x.shape[1]),
    "div": lambda a, b, o: a / b,
    "exp": lambda x, o: x.exp(),
    "gelu": lambda x, o: functional.gelu(x),
    "layer_norm": lambda x, o: layer_norm(x),
    "linear": lambda x, w, o: functional.linear(x, w),
    "log": lambda x, o: x.log(),
    "log_softmax": lambda x, o: functional.log_softmax(x, -1),
    "matmul": lambda a, b, o: a @ b,
    "max": lambda x, o: x.amax(axis(o)),
    "max_pool": lambda x, o: functional.max_pool2d(x, 2),
    "mean": lambda x, o: x.mean(axis(o)),
    "mul": lambda a, b, o: a * b,
    "pow": lambda x, o: x ** o.get("exponent", 2.5),
    "relu": lambda x, o: x.relu(),
    "sigmoid": lambda x, o: x.sigmoid(),
    "silu": lambda x, o: functional.silu(x),
    "softmax": lambda x, o: x.softmax(-1),
    "sum": lambda x, o: x.sum(axis(o)),
    "tanh": lambda x, o: x.tanh(),
    "to_nchw": lambda x, o: x.permute(0, 3, 1, 2).contiguous(),
}
IMAGES = ("batch_norm", "conv2d", "max_pool")
TYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


def milliseconds(seconds, call):
    """The time of a call, in the median of blocks that last long enough to be timed."""
    call()
    begin = time.perf_counter()
    call()
    calls = math.ceil(0.01 / max(time.perf_counter() - begin, 1e-7))
    blocks, start = [], time.perf_counter()
    while len(blocks) < 5 or time.perf_counter() - start < seconds:
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        blocks.append((time.perf_counter() - begin) / calls)
    return statistics.median(blocks) * 1e3


def times_of(text, options):
    operation, *words = text.split()
    shapes = [[int(extent) for extent in word.split("x")] for word in words if "=" not in word]
    numbers = {name: float(number) for name, number in (word.split("=") for word in words if "=" in word)}
    values = [(torch.rand(shape) * 0.9 + 0.1).to(TYPES[options.precision]) for shape in shapes]
    if operation in IMAGES:
        form = torch.channels_last if options.format == "channels_last" else torch.contiguous_format
        values = [value.permute(0, 3, 1, 2).contiguous(memory_format=form) for value in values]

    def compute(*operands):
        return OPERATIONS[operation](*operands, numbers)

    with torch.no_grad():
        gradient = torch.rand_like(compute(*values))

    def run(wanted):
        operands = [value.detach().requires_grad_(bool(wanted >> i & 1)) for i, value in enumerate(values)]
        y = compute(*operands)
        if wanted:
            y.backward(gradient if y.dim() else None)

    def forward():
        with torch.inference_mode():
            compute(*values)

    found = {"op": text, "forward": milliseconds(options.seconds, forward)}
    passes = {"first": 1, "second": 2} if len(values) == 2 else {"all": 1}
    for name, wanted in passes.items():
        found[name] = milliseconds(options.seconds, lambda wanted=wanted: run(wanted))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ops", required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--format", choices=["nchw", "channels_last"], default="channels_last")
    parser.add_argument("--precision", choices=TYPES, default="fp32")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    for text in options.ops.split(";"):
        print(json.dumps(times_of(text, options)), flush=True)


if __name__ == "__main__":
    main()
