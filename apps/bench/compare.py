#!/usr/bin/env python3
"""Training throughput beside PyTorch, in turns on the same machine: images/s of both and the ratio.

compare.py [--bench build/release/bin/bench_step] [--python PYTHON_WITH_TORCH] [--rounds 3] [--seconds 5]
PyTorch counts with the better of its two memory formats. Its BLAS is told the CPU's real kernel set, which
Debian's OpenBLAS does not find by itself.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess

HERE = pathlib.Path(__file__).resolve().parent


def measure(command, environment=None):
    out = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **(environment or {})})
    return json.loads(out.stdout.strip().splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", default=str(HERE.parents[1] / "build/release/bin/bench_step"))
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--models", default="darknet,resnet9,resnet18")
    options = parser.parse_args()

    blas = {"OPENBLAS_CORETYPE": "SkylakeX"} if "avx512f" in pathlib.Path("/proc/cpuinfo").read_text() else {}
    print(f"batch {options.batch}, fp32, {options.threads} threads, median of {options.rounds} rounds of {options.seconds:g} s")
    print(f"{'model':10} {'learn':>9} {'torch':>9} {'ratio':>6}   forward/backward/update ms")
    for model in options.models.split(","):
        ours, theirs, names = [], {}, {}
        for _ in range(options.rounds):
            ours.append(measure([options.bench, "--model", model, "--batch", str(options.batch), "--threads",
                                 str(options.threads), "--seconds", str(options.seconds)]))
            for form in ("nchw", "channels_last"):
                result = measure([options.python, str(HERE / "torch_step.py"), model, str(options.batch),
                                  str(options.threads), str(options.seconds), form], blas)
                theirs.setdefault(form, []).append(result["images_per_s"])
                names[form] = result["system"]
        learn = statistics.median(run["images_per_s"] for run in ours)
        form, torch = max(((f, statistics.median(v)) for f, v in theirs.items()), key=lambda pair: pair[1])
        last = ours[-1]
        print(f"{model:10} {learn:9.1f} {torch:9.1f} {learn / torch:6.2f}   "
              f"{last['forward_ms']:.1f} / {last['backward_ms']:.1f} / {last['update_ms']:.1f}   ({names[form]})", flush=True)


main()
