#!/usr/bin/env python3
"""Compares the speed of inference with PyTorch and onnxruntime, in turns on the same machine: ms per forward pass, as a table.

compare_inference.py BUILD [--models resnet18,resnet9,darknet] [--batches 1,8,64] [--precisions fp32,bf16] [--rounds 3]
                     [--seconds 1] [--threads 2]

Needs torch, onnx and onnxruntime in the Python that runs it. Each system runs in a separate process, one after the other, --rounds
times, PyTorch in the faster of its memory formats. The models have the same layers (torch_models.py). onnxruntime does not support
bf16 on CPUs; PyTorch's model and images are bf16 then.
"""
import argparse
import json
import pathlib
import sys

import turns

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


def ended(done):
    if done.status != 0:
        sys.exit(done.errors)
    return done


def ours(options, precision, model, batch):
    done = ended(turns.run([options.build / "bin" / "bench_inference", "--model", model, "--batch", batch, "--precision", precision, "--seconds",
                            options.seconds, "--threads", options.threads]))
    return json.loads(done.output)["median_ms"], done.others


def other(options, precision, system, model, batch):
    program = OTHER.format(here=str(HERE), system=system, model=model, batch=batch, threads=options.threads,
                           seconds=options.seconds, precision=precision)
    done = ended(turns.run([sys.executable, "-W", "ignore", "-c", program],
                           {**turns.peer_environment(), "OMP_NUM_THREADS": str(options.threads)}))
    return float(done.output.split()[-1]), done.others


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
    print(turns.LEGEND)
    print(f"{'precision':9} {'model':10} {'batch':>5} {'learn':>14} {'onnxruntime':>14} {'torch':>14}   learn is faster by")
    for precision in options.precisions.split(","):
        for model in options.models.split(","):
            for batch in map(int, options.batches.split(",")):
                compare(options, precision, model, batch)


def compare(options, precision, model, batch):
    systems = ["torch", "torch channels_last"] + ["onnxruntime"] * (precision == "fp32")
    measurements = {"learn": lambda: ours(options, precision, model, batch)}
    for system in systems:
        measurements[system] = lambda system=system: other(options, precision, system, model, batch)
    found = {name: turns.summary(runs) for name, runs in turns.in_turns(measurements, options.rounds).items()}
    peers = [found.get("onnxruntime"), min(found["torch"], found["torch channels_last"])]
    shown = [peer.shown("{:.2f}") if peer else "-" for peer in peers]
    faster = ", ".join(f"{peer.median / found['learn'].median:.2f}x" for peer in peers if peer)
    print(f"{precision:9} {model:10} {batch:5} {found['learn'].shown('{:.2f}'):>14} {shown[0]:>14} {shown[1]:>14}   {faster}", flush=True)


main()
