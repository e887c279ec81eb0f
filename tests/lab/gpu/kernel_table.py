#!/usr/bin/env python3
"""kernel_table.py BINARY TRAFFIC: every kernel with its registers, its shared memory, and what it moved, in Markdown.

TRAFFIC is written by a program under the fake CUDA runtime with FAKE_CUDA_TRAFFIC=FILE. The table of the project:

    export LD_PRELOAD=build/release/tests/lab/cuda/fake/libfakecuda.so FAKE_CUDA_TRAFFIC=/tmp/traffic
    build/release/bin/learn train --device cuda --data synthetic10 --classes disk,ring --model darknet --precision fp16 \\
        --train-limit 8 --valid-limit 2 --batch-size 8 --epochs 1 --seed 1 --workers 0 --name kernels
    unset LD_PRELOAD
    tests/lab/gpu/kernel_table.py build/release/lib/liblearn_cuda.so /tmp/traffic >tests/lab/cuda/kernels.md
"""
import sys
from collections import defaultdict

import fat_binary
import kernel_budget

HEAD = """# Registers and traffic of the kernels

Registers and bytes of static shared memory: the most over all template instances and architectures, as in
`tests/lab/gpu/budgets`. Launches and bytes of global memory: one training step of Darknet (nf 16, 2 classes, 8 images of
32 x 32, f16, AdamW) and a validation batch of 2, counted by the fake CUDA runtime instruction by instruction, before any
cache. Work of cuDNN and cuBLASLt is not in it. A kernel without numbers has no part in that step. Written by
`tests/lab/gpu/kernel_table.py`, which explains how.

| kernel | registers | shared, bytes | launches | threads | MB read | MB written | bytes per thread |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"""


def read_traffic(path):
    """kernel -> [launches, threads, bytes read, bytes written], summed over its instances."""
    rows = [line.split() for line in open(path)]
    total = defaultdict(lambda: [0, 0, 0, 0])
    for name, row in zip(fat_binary.demangle(row[0] for row in rows), rows):
        kernel = total[kernel_budget.plain(name.replace("(anonymous namespace)::", ""))]
        for i, value in enumerate(row[1:]):
            kernel[i] += int(value)
    return total


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    traffic = read_traffic(sys.argv[2])
    print(HEAD)
    for name, (registers, shared) in sorted(kernel_budget.measure([sys.argv[1]]).items()):
        launches, threads, read, written = traffic[name]
        moved = f"{launches} | {threads} | {read / 1e6:.3f} | {written / 1e6:.3f} | {(read + written) / threads:.0f}" \
            if launches else " | | | |"
        print(f"| `{name}` | {registers} | {shared} | {moved} |")
    sums = [sum(row[i] for row in traffic.values()) for i in range(4)]
    print(f"| all | | | {sums[0]} | {sums[1]} | {sums[2] / 1e6:.1f} | {sums[3] / 1e6:.1f} | |")


main()
