#!/usr/bin/env python3
"""Compares augmentation of images in memory with torchvision's transforms v2, in turns, one thread each: images per second.

compare_augment.py BUILD [--sizes 32,224] [--rounds 3] [--only STEP,...]

Images of bytes are augmented one by one, as in a data set, and normalized to f32. torchvision counts with tensors or with PIL's
images, whichever is faster. Needs torch, torchvision, PIL and numpy in the Python that runs it.
"""
import argparse
import json
import pathlib
import sys

import turns

# A chain, and the same steps for torchvision.
CHAINS = {
    "basic": "pad({size} // 8), T.RandomCrop({size}), T.RandomHorizontalFlip()",
    "imagenet": "T.RandomResizedCrop({size}, antialias=True), T.RandomHorizontalFlip()",
    "torchvision": "T.RandomResizedCrop({size}, antialias=True), T.RandomHorizontalFlip(), T.TrivialAugmentWide()",
    "affine:degrees=20,translate=0.1,scale=0.9:1.1": "T.RandomAffine(20, (0.1, 0.1), (0.9, 1.1))",
    "affine:degrees=20,interpolation=bilinear": "T.RandomAffine(20, interpolation=T.InterpolationMode.BILINEAR)",
    "jitter:brightness=0.4,contrast=0.4,saturation=0.4": "T.ColorJitter(0.4, 0.4, 0.4)",
    "jitter:hue=0.1": "T.ColorJitter(hue=0.1)",
    "gray:p=1": "T.RandomGrayscale(1)",
    "posterize:p=1": "T.RandomPosterize(4, 1)",
    "solarize:p=1": "T.RandomSolarize(128, 1)",
    "equalize:p=1": "T.RandomEqualize(1)",
    "autocontrast:p=1": "T.RandomAutocontrast(1)",
    "sharpness:p=1": "T.RandomAdjustSharpness(2, 1)",
    "blur:p=1": "T.GaussianBlur(5, (0.1, 2.0))",
    "randaugment": "T.RandAugment()",
    "trivial": "T.TrivialAugmentWide()",
    "augmix": "T.AugMix(all_ops=False)",
}
AFTER = {"torchvision": ", T.RandomErasing(0.1)"}
TORCH = """
import json, time, numpy, torch
from PIL import Image
from torchvision.transforms import v2 as T
torch.set_num_threads(1)
torch.manual_seed(0)
def pad(n):
    return T.Pad(n, padding_mode="reflect")
y, x = numpy.mgrid[:{size}, :{size}]
random = numpy.random.default_rng(0)
originals = [((x[..., None] * [1, 2, 3] + 2 * y[..., None]) * 128 // {size} + random.integers(0, 32, ({size}, {size}, 3))).astype(numpy.uint8) for _ in range(64)]
steps = T.Compose([{steps}, T.ToImage(), T.ToDtype(torch.float32, scale=True),
                   T.Normalize((0.491, 0.482, 0.447), (0.247, 0.243, 0.261)){after}])
images = [Image.fromarray(p) if {pil} else torch.from_numpy(p).permute(2, 0, 1).contiguous() for p in originals]
start, count = time.perf_counter(), 0
while time.perf_counter() - start < {seconds}:
    for image in images:
        steps(image)
        count += 1
print(json.dumps(dict(images_per_second=count / (time.perf_counter() - start))))
"""


def speed(command, environment=None):
    run = turns.run(command, environment)
    if run.status != 0:
        sys.exit(f"error: {command[0]} ended with {run.status}: {run.errors[-800:]}")
    return json.loads(run.output.splitlines()[-1])["images_per_second"], run.others


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--sizes", default="32,224")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--only", help="chains that begin with one of these words")
    options = parser.parse_args()
    bench = options.build / "bin" / "bench_augment"
    print(turns.LEGEND + "\n")
    print("| chain | pixels | learn | torchvision, tensors | torchvision, PIL | ratio to the faster |")
    print("| --- | --- | --- | --- | --- | --- |")
    slower = 0
    for size in map(int, options.sizes.split(",")):
        for chain, steps in CHAINS.items():
            if options.only and not chain.startswith(tuple(options.only.split(","))):
                continue

            def torch(pil):
                program = TORCH.format(size=size, steps=steps.format(size=size), after=AFTER.get(chain, ""), pil=pil, seconds=options.seconds)
                return speed([sys.executable, "-W", "ignore", "-c", program], turns.peer_environment())

            results = turns.in_turns({
                "learn": lambda: speed([bench, "--augment", chain, "--size", size, "--seconds", options.seconds]),
                "tensors": lambda: torch(False),
                "PIL": lambda: torch(True),
            }, options.rounds)
            speeds = {system: turns.summary(runs) for system, runs in results.items()}
            ratio = speeds["learn"].median / max(speeds["tensors"].median, speeds["PIL"].median)
            slower += ratio < 1
            shown = " | ".join(speeds[system].shown("{:.0f}") for system in ("learn", "tensors", "PIL"))
            print(f"| {chain} | {size} | {shown} | {ratio:.2f} |", flush=True)
    sys.exit(1 if slower else 0)


if __name__ == "__main__":
    main()
