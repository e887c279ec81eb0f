#!/usr/bin/env python3
"""Compares loading images from files with PyTorch's DataLoader, in turns on the same machine: images per second,
milliseconds to the first batch, and memory.

compare_loader.py BUILD FOLDER [--small 100000] [--large 2000] [--workers 0,1,2,4] [--rounds 3] [--batch 256]

Creates missing images in FOLDER: --small JPEG files of 32 x 32 pixels and --large files of 500 x 400, in ten class folders.
Small images are decoded and normalized; large ones are also scaled to cover 224 x 224 and cropped. Needs torch, torchvision,
PIL and numpy in the Python that runs it. PyTorch decodes with PIL (its usual loader), then Resize, CenterCrop, ToTensor and
Normalize. Memory is the peak of the proportional set size of the process and its workers. Checks that learn's batches have the
same bits for all numbers of workers.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import threading
import time

import turns

TORCH = """
import json, time, torch, torchvision
from torchvision import transforms as T
torch.set_num_threads(1)
steps = [T.ToTensor(), T.Normalize((0.491, 0.482, 0.447), (0.247, 0.243, 0.261))]
if {size} != 32:
    steps = [T.Resize({size}), T.CenterCrop({size})] + steps
start = time.perf_counter()
images = torchvision.datasets.ImageFolder({folder!r}, T.Compose(steps))
opened = time.perf_counter() - start
loader = torch.utils.data.DataLoader(images, batch_size={batch}, shuffle=True, num_workers={workers}, persistent_workers={workers} > 0)
passes = []
for _ in range({passes}):
    start, first, count = time.perf_counter(), None, 0
    for x, y in loader:
        first = first or time.perf_counter() - start
        count += len(x)
    passes.append(dict(images_per_second=count / (time.perf_counter() - start), first_batch_ms=first * 1e3))
print(json.dumps(dict(images=len(images), opened_s=opened, passes=passes)))
"""


def make_part(task):
    import numpy
    from PIL import Image
    folder, numbers, width, height = task
    for i in numbers:
        random = numpy.random.default_rng(i)
        coarse = random.integers(0, 256, (height // 8 + 1, width // 8 + 1, 3), dtype=numpy.uint8)
        smooth = numpy.asarray(Image.fromarray(coarse).resize((width, height), Image.BICUBIC), dtype=numpy.int16)
        pixels = numpy.clip(smooth + random.integers(-12, 13, smooth.shape), 0, 255).astype(numpy.uint8)
        Image.fromarray(pixels).save(folder / str(i % 10) / f"{i:06}.jpg", quality=85)


def make(folder, count, width, height):
    import multiprocessing
    if (folder / "done").exists() and (folder / "done").read_text() == str(count):
        return
    for label in range(10):
        (folder / str(label)).mkdir(parents=True, exist_ok=True)
    parts = [(folder, range(begin, min(begin + 500, count)), width, height) for begin in range(0, count, 500)]
    with multiprocessing.Pool() as pool:
        for _ in pool.imap_unordered(make_part, parts):
            pass
    (folder / "done").write_text(str(count))


def tree_of(pid):
    all_of = [pid]
    for at in all_of:
        try:
            for task in os.listdir(f"/proc/{at}/task"):
                all_of += map(int, pathlib.Path(f"/proc/{at}/task/{task}/children").read_text().split())
        except OSError:
            pass
    return all_of


def set_size(pid):
    total = 0
    for at in tree_of(pid):
        try:
            total += next(int(line.split()[1]) for line in pathlib.Path(f"/proc/{at}/smaps_rollup").read_text().splitlines() if line.startswith("Pss:"))
        except (OSError, StopIteration):
            pass
    return total / 1024


def run(command, environment):
    """Returns the program's output, with "memory_mib" and "others", the cores that other processes used, added."""
    watched = turns.Watched()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**environment, "OMP_NUM_THREADS": "1"})
    largest = 0

    def watch():
        nonlocal largest
        while process.poll() is None:
            largest = max(largest, set_size(process.pid))
            time.sleep(0.05)

    watcher = threading.Thread(target=watch)
    watcher.start()
    text = process.stdout.read()
    watcher.join()
    if process.wait() != 0:
        sys.exit(f"error: {command[0]} ended with {process.returncode}")
    return json.loads(text.splitlines()[-1]) | {"memory_mib": largest, "others": watched.others()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--small", type=int, default=100000)
    parser.add_argument("--large", type=int, default=2000)
    parser.add_argument("--workers", default="0,1,2,4")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batch", type=int, default=256)
    options = parser.parse_args()
    workers = [int(w) for w in options.workers.split(",")]
    failed = False
    print(turns.LEGEND + "\n")
    print("| images | workers | system | images/s | first batch ms | memory MiB |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, count, size, width, height in [("small", options.small, 32, 32, 32), ("large", options.large, 224, 500, 400)]:
        if count == 0:
            continue
        folder = options.folder / f"{name}-{count}"
        make(folder, count, width, height)
        bench = [str(options.build / "bin" / "bench_loader"), "--data", str(folder), "--size", str(size), "--batch", str(options.batch)]
        sums = set()
        for many in workers:
            torch = TORCH.format(size=size, folder=str(folder), batch=options.batch, workers=many, passes=1)
            systems = {
                "learn": bench + ["--workers", str(many), "--passes", "1"],
                "learn, cached": bench + ["--workers", str(many), "--passes", "2", "--cache", "4096"],
                "PyTorch": [sys.executable, "-W", "ignore", "-c", torch],
            }
            environments = {"PyTorch": turns.peer_environment()}
            results = turns.in_turns({system: lambda system=system: run(systems[system], environments.get(system, os.environ))
                                      for system in systems}, options.rounds)
            speeds = {}
            for system, runs in results.items():
                speeds[system] = turns.summary([(run["passes"][-1]["images_per_second"], run["others"]) for run in runs])
                first = statistics.median(run["passes"][0]["first_batch_ms"] for run in runs)
                memory = statistics.median(run["memory_mib"] for run in runs)
                print(f"| {count} of {width} x {height} | {many} | {system} | {speeds[system].shown('{:.0f}')} | {first:.0f} | {memory:.0f} |",
                      flush=True)
            failed = failed or speeds["learn"].median < speeds["PyTorch"].median
            checked = run(bench + ["--workers", str(many), "--passes", "1", "--checksum"], os.environ)
            sums.add(checked["passes"][0]["md5"])
        print(f"{count} of {width} x {height}: {len(sums)} checksum(s) for {len(workers)} numbers of workers: {', '.join(sums)}")
        failed = failed or len(sums) != 1
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
