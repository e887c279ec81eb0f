#!/usr/bin/env python3
"""Compares the speed of inference with PyTorch and onnxruntime, in turns on the same machine: ms per forward pass, as a table.

compare_inference.py BUILD [--models resnet18,resnet9,darknet] [--batches 1,8,64] [--precisions fp32,bf16] [--rounds 3]
                     [--seconds 1] [--threads 2]

Needs torch, onnx and onnxruntime in the Python that runs it. Each system runs in a separate process, one after the other, --rounds
times. The result is the median of the best round, in the faster of PyTorch's memory formats. The models have the same layers
(torch_models.py). onnxruntime does not support bf16 on CPUs; PyTorch's model and images are bf16 then.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
OTHER = """
import statistics, sys, time
sys.path.insert(0, {here!r})
import torch
from torch_models import MODELS
torch.set_num_threads({threads})
torch.manual_seed(0)
net = MODELS[{model!r}]().eval()
x = torch.full(({batch}, 3, 32, 32), 0.5)
if {system!r} == "onnxruntime":
    import io, onnxruntime
    file = io.BytesIO()
    torch.onnx.export(net, (x,), file, dynamo=False, input_names=["image"], opset_version=17)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = {threads}
    session = onnxruntime.InferenceSession(file.getvalue(), options, providers=["CPUExecutionProvider"])
    image = x.numpy()
    call = lambda: session.run(None, dict(image=image))
else:
    if {system!r} == "torch channels_last":
        net, x = net.to(memory_format=torch.channels_last), x.contiguous(memory_format=torch.channels_last)
    if {precision!r} == "bf16":
        net, x = net.bfloat16(), x.bfloat16()
    def call():
        with torch.inference_mode():
            net(x)
for _ in range(3):
    call()
times = []
begin = time.perf_counter()
while time.perf_counter() - begin < {seconds}:
    start = time.perf_counter()
    call()
    times.append(time.perf_counter() - start)
print(statistics.median(times) * 1e3)
"""


def ours(options, precision, model, batch):
    done = subprocess.run([options.build / "bin" / "bench_inference", "--model", model, "--batch", str(batch), "--precision", precision, "--seconds",
                           str(options.seconds), "--threads", str(options.threads)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["median_ms"]


def other(options, precision, system, model, batch):
    program = OTHER.format(here=str(HERE), system=system, model=model, batch=batch, threads=options.threads,
                           seconds=options.seconds, precision=precision)
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=True,
                          env=os.environ | {"OMP_NUM_THREADS": str(options.threads)})
    return float(done.stdout.split()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--models", default="resnet18,resnet9,darknet")
    parser.add_argument("--batches", default="1,8,64")
    parser.add_argument("--precisions", default="fp32,bf16")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    print(f"{'precision':9} {'model':10} {'batch':>5} {'learn':>9} {'onnxruntime':>12} {'torch':>9}   learn is faster by")
    for precision in options.precisions.split(","):
        for model in options.models.split(","):
            for batch in map(int, options.batches.split(",")):
                compare(options, precision, model, batch)


def compare(options, precision, model, batch):
    systems = ["torch", "torch channels_last"] + ["onnxruntime"] * (precision == "fp32")
    best = dict.fromkeys(["learn", *systems], float("inf"))
    for _ in range(options.rounds):
        best["learn"] = min(best["learn"], ours(options, precision, model, batch))
        for system in systems:
            best[system] = min(best[system], other(options, precision, system, model, batch))
    theirs = {"onnxruntime": best.get("onnxruntime"), "torch": min(best["torch"], best["torch channels_last"])}
    shown = [f"{theirs[name]:.2f}" if theirs[name] else "-" for name in theirs]
    faster = ", ".join(f"{time / best['learn']:.2f}x" for time in theirs.values() if time)
    print(f"{precision:9} {model:10} {batch:5} {best['learn']:9.2f} {shown[0]:>12} {shown[1]:>9}   {faster}", flush=True)


main()
