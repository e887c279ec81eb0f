#!/usr/bin/env python3
"""Compares `learn lr-find` with fastai's Learner.lr_find: compare_lr_find.py LEARN IMAGES [--samples N] [--plot FILE.png]

LEARN is the program, IMAGES a folder of training images (train/CLASS/*.jpg, test/CLASS/*.jpg). Not a default test, because it needs
fastai, torch, pandas, pillow and matplotlib from PyPI. Both sweep the same weights (from a short training of ours, exported as a
PyTorch module) over the same images with the same optimizers. The batch is the whole set, because fastai shuffles with other
random numbers. At high rates a training is chaotic: a rounding at 1e-3 becomes a different curve at 1. fastai is therefore also
compared with itself, with its convolutions computed by another library. Exit status 1 if smoothed losses differ by more than
TOLERANCE up to a rate of CALM. The suggestions are printed; the tests of `learn` check that their rules equal fastai's.
"""
import argparse
import csv
import importlib.util
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import fastai
import numpy as np
import torch
from fastai.callback.schedule import minimum, slide, steep, valley
from fastai.data.core import DataLoaders
from fastai.learner import Learner
from fastai.optimizer import SGD, Adam
from PIL import Image
from torch.utils.data import DataLoader, TensorDataset

# Roundings of f32, in sums of another order, grow from update to update as the weights move apart.
CALM, TOLERANCE = 1e-2, 5e-3
RULES = ("valley", "slide", "minimum", "steep")
OPTIMIZERS = {"sgd": ("sgd:momentum=0.9", partial(SGD, mom=0.9)),
              "adam": ("adam:momentum=0.9,beta2=0.99,eps=1e-5", partial(Adam, mom=0.9, sqr_mom=0.99, eps=1e-5, wd=0.0))}


def run(*words, cwd):
    done = subprocess.run([str(word) for word in words], cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stderr}")
    return done.stdout


def module_of(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.load()


def load(folder, classes):
    """Images (N,C,H,W) normalized as `--normalize 0.5:...:0.5` does, and their classes."""
    x, y = [], []
    for label, name in enumerate(classes):
        for path in sorted((folder / "train" / name).iterdir()):
            x.append(np.asarray(Image.open(path).convert("RGB"), dtype=np.float32) / 255)
            y.append(label)
    return torch.from_numpy((np.stack(x) - 0.5) / 0.5).permute(0, 3, 1, 2).contiguous(), torch.tensor(y)


def small_set(images, folder, samples):
    """Links to the first images of each class: so both see the same."""
    classes = sorted(path.name for path in (images / "train").iterdir())
    for part, count in (("train", samples // len(classes)), ("test", 2)):
        for name in classes:
            (folder / part / name).mkdir(parents=True)
            for path in sorted((images / part / name).iterdir())[:count]:
                (folder / part / name / path.name).symlink_to(path.resolve())
    return classes


def ours(learn, folder, optimizer, samples):
    begin = time.monotonic()
    told = run(learn, "lr-find", "--data", "set", "--normalize", "0.5:0.5:0.5:0.5:0.5:0.5", "--augment", "none", "--model", "resnet9",
               "--width", "16", "--pretrained", "runs/start", "--optimizer", optimizer, "--weight-decay", "0", "-b", samples, "--csv", "lr.csv", cwd=folder)
    seconds = time.monotonic() - begin
    with open(folder / "lr.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    found = dict(line.split()[:2] for line in told.splitlines() if line.split()[:1] and line.split()[0] in RULES)
    curve = np.array([[float(row[key]) for key in ("lr", "smoothed")] for row in rows])
    return curve, [float(found[rule]) for rule in RULES], seconds


def fastais(folder, x, y, optimizer, onednn=True):
    loader = DataLoader(TensorDataset(x, y), batch_size=len(x))
    learn = Learner(DataLoaders(loader, loader), module_of(folder / "start.py"), loss_func=torch.nn.CrossEntropyLoss(), opt_func=optimizer,
                    path=folder)
    begin = time.monotonic()
    with learn.no_bar(), torch.backends.mkldnn.flags(enabled=onednn):
        found = learn.lr_find(suggest_funcs=(valley, slide, minimum, steep), show_plot=False)
    seconds = time.monotonic() - begin
    curve = np.array([[float(a), float(b)] for a, b in zip(learn.recorder.lrs, learn.recorder.losses)])
    return curve, [float(value) for value in found], seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("learn", type=Path)
    parser.add_argument("images", type=Path)
    parser.add_argument("--samples", type=int, default=500)
    parser.add_argument("--plot", type=Path)
    args = parser.parse_args()
    learn = args.learn.resolve()
    torch.set_num_threads(2)
    bad = False
    drawn = []
    print(f"fastai {fastai.__version__}, PyTorch {torch.__version__}, {args.samples} images in one batch, resnet9:width=16")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        classes = small_set(args.images, folder / "set", args.samples)
        run(learn, "train", "--data", "set", "--normalize", "0.5:0.5:0.5:0.5:0.5:0.5", "--model", "resnet9", "--width", "16", "--epochs", "1",
            "--name", "start", "--no-plots", cwd=folder)
        run(learn, "export", "runs/start", "start.safetensors", cwd=folder)
        x, y = load(folder / "set", classes)
        for label, (spec, theirs) in OPTIMIZERS.items():
            a, found_a, seconds_a = ours(learn, folder, spec, len(x))
            b, found_b, seconds_b = fastais(folder, x, y, theirs)
            c, found_c, _ = fastais(folder, x, y, theirs, onednn=False)
            apart, itself = (np.abs(one[:count, 1] / b[:count, 1] - 1).max()
                             for count in [int((b[:, 0] <= CALM).sum())] for one in (a, c))
            print(f"\n{label}: {len(a)} and {len(b)} updates in {seconds_a:.1f} and {seconds_b:.1f} s; up to a rate of {CALM} smoothed losses are "
                  f"{apart:.1e} apart, those of fastai with itself {itself:.1e}")
            print("rule          ours   fastai   itself")
            for row in zip(RULES, found_a, found_b, found_c):
                print("{:<9} {:8.2e} {:8.2e} {:8.2e}".format(*row))
            bad |= bool(apart > TOLERANCE)
            drawn.append((label, a, b, c, found_a, found_b))
    if args.plot:
        import matplotlib
        matplotlib.use("Agg")
        from matplotlib import pyplot
        figure, axes = pyplot.subplots(1, len(drawn), figsize=(12, 4.5))
        for axis, (label, a, b, c, found_a, found_b) in zip(axes, drawn):
            axis.semilogx(*a[:-5].T, label="learn", lw=4, alpha=0.4)
            axis.semilogx(*b[:-5].T, label="fastai", lw=1, color="black")
            axis.semilogx(*c[:-5].T, label="fastai without oneDNN", lw=1, ls="--", color="tab:orange")
            for rule, mine, other in zip(RULES, found_a, found_b):
                axis.axvline(mine, lw=4, alpha=0.2)
                axis.axvline(other, lw=1, ls=":", color="black")
                axis.text(other, axis.get_ylim()[1], rule, rotation=90, va="top", ha="right", size=8)
            axis.set(title=label, xlabel="learning rate", ylabel="smoothed loss")
            axis.legend()
        figure.savefig(args.plot, dpi=100)
    return bad


if __name__ == "__main__":
    sys.exit(main())
