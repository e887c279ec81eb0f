#!/usr/bin/env python3
"""Measures in PyTorch what bench_step measures: one JSON object per run.

torch_step.py --model resnet9 --batch 64 [--device cpu|cuda] [--precision P] [--mode eager|compile|max-autotune] ...
P is fp32, tf32, fp16 or bf16 (weights and activations in half, BatchNorm in f32), fp16-amp or bf16-amp (autocast, with
a GradScaler for fp16). With --ranks N, N processes with a core each divide the batch, by DistributedDataParallel on gloo, on a CPU.
"""
import argparse
import contextlib
import json
import math
import os
import statistics
import time

import torch
from torch import distributed, multiprocessing, nn
from torch_models import MODELS

HALVES = {"fp16": torch.float16, "bf16": torch.bfloat16}


class Step:
    """A net and its update on one batch."""

    def __init__(self, options):
        self.device = torch.device(options.device)
        self.precision = options.precision
        form = torch.channels_last if options.format == "channels_last" else torch.contiguous_format
        torch.manual_seed(0)
        net = (MODELS[options.model](options.width) if options.width else MODELS[options.model]()).train().to(self.device, memory_format=form)
        batch = options.batch // options.ranks
        x = torch.rand(batch, 3, options.image_size, options.image_size, device=self.device).contiguous(memory_format=form)
        if self.precision in HALVES:
            net, x = net.to(HALVES[self.precision]), x.to(HALVES[self.precision])
            for module in net.modules():
                if isinstance(module, nn.BatchNorm2d):
                    module.float()
        fused = {"fused": True} if self.device.type == "cuda" else {}
        self.sgd = torch.optim.SGD(net.parameters(), lr=0.001, momentum=0.9, **fused)
        modes = {"eager": lambda: net, "compile": lambda: torch.compile(net),
                 "max-autotune": lambda: torch.compile(net, mode="max-autotune")}
        self.net = modes[options.mode]()
        if options.ranks > 1:
            self.net = nn.parallel.DistributedDataParallel(self.net)
        self.x, self.y = x, torch.arange(batch, device=self.device) % 10
        self.scaler = torch.amp.GradScaler(self.device.type) if self.precision == "fp16-amp" else None

    def autocast(self):
        if not self.precision.endswith("-amp"):
            return contextlib.nullcontext()
        return torch.autocast(self.device.type, HALVES[self.precision[:4]])

    def run(self):
        self.sgd.zero_grad(set_to_none=True)
        with self.autocast():
            loss = nn.functional.cross_entropy(self.net(self.x).float(), self.y)
        if self.scaler is None:
            loss.backward()
            self.sgd.step()
            return
        self.scaler.scale(loss).backward()
        self.scaler.step(self.sgd)
        self.scaler.update()

    def wait(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def stretch(self, steps):
        """Returns the seconds of a step until it is complete and until it is enqueued, and of CPU time (all threads)."""
        self.wait()
        begin, cpu = time.perf_counter(), time.process_time()
        for _ in range(steps):
            self.run()
        enqueued, cpu = time.perf_counter() - begin, time.process_time() - cpu
        self.wait()
        return (time.perf_counter() - begin) / steps, enqueued / steps, cpu / steps


def device_bytes_used(device):
    free, total = torch.cuda.mem_get_info() if device == "cuda" else (0, 0)
    return total - free


def measure(options):
    tf32 = options.precision == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cudnn.benchmark = True
    if options.threads:
        torch.set_num_threads(options.threads)
    before = device_bytes_used(options.device)
    step = Step(options)
    step.stretch(options.warm_up)
    trial = step.stretch(3)[0]
    host = [step.stretch(2)[1:] for _ in range(9)] if options.device == "cuda" else []
    count = max(1, math.ceil(options.seconds / options.windows / trial))
    if options.ranks > 1:
        shared = [count]
        distributed.broadcast_object_list(shared)
        count = shared[0]
    windows = [step.stretch(count)[0] for _ in range(options.windows)]
    median = statistics.median(windows)
    result = {"system": f"torch {torch.__version__}", "model": options.model, "image_size": options.image_size, "batch": options.batch,
              "precision": options.precision, "device": options.device, "mode": options.mode, "format": options.format,
              "ranks": options.ranks, "threads": torch.get_num_threads(), "images_per_s": round(options.batch / median, 1),
              "best": round(options.batch / min(windows), 1), "worst": round(options.batch / max(windows), 1),
              "step_ms": round(median * 1e3, 4), "steps": count * options.windows}
    if options.device == "cuda":
        result.update(gpu=torch.cuda.get_device_name(), host_wall_us=round(statistics.median(w for w, _ in host) * 1e6, 1),
                      host_cpu_us=round(statistics.median(c for _, c in host) * 1e6, 1),
                      device_bytes=device_bytes_used("cuda") - before,
                      allocated_bytes=torch.cuda.max_memory_allocated())
    return result


def measure_rank(rank, options):
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[rank % len(cores)]})
    options.threads = options.threads or 1
    distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{options.port}", rank=rank, world_size=options.ranks)
    result = measure(options)
    if rank == 0:
        print(json.dumps(result))
    distributed.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=MODELS, default="resnet9")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--image-size", type=int, default=32)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--precision", choices=["fp32", "tf32", "fp16", "bf16", "fp16-amp", "bf16-amp"], default="fp32")
    parser.add_argument("--mode", choices=["eager", "compile", "max-autotune"], default="eager")
    parser.add_argument("--format", choices=["nchw", "channels_last"], default="channels_last")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--warm-up", type=int, default=20)
    parser.add_argument("--windows", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.5)
    parser.add_argument("--width", type=int, default=0, help="of resnet9; 0: its default")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--port", type=int, default=29511, help="for the processes of --ranks")
    options = parser.parse_args()
    if options.ranks > 1:
        multiprocessing.spawn(measure_rank, args=(options,), nprocs=options.ranks)
    else:
        print(json.dumps(measure(options)))


if __name__ == "__main__":
    main()
