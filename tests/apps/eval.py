#!/usr/bin/env python3
"""What `learn eval` measures: eval.py PATH/TO/learn.

Every image of what it is given, scaled to the model's input; it says what that was. Prints what failed; exit status 1
then.
"""
import csv
import hashlib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from png import write_png

LEARN = str(Path(sys.argv[1]).resolve())
COLOURS = {"blue": (20, 40, 220), "red": (220, 30, 20)}
failures = []


def check(what, ok, seen=""):
    if not ok:
        failures.append(what)
        print(f"FAILED: {what}\n  {seen}")


def learn(*words, status=0):
    done = subprocess.run([LEARN, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    check(f"learn {' '.join(words)} is status {status}", done.returncode == status, done)
    return done


def images(folder, count, size, classes=tuple(COLOURS)):
    for name in classes:
        for i in range(count):
            width, height = size(i)
            write_png(Path(folder, name, f"{i}.png"), width, height, COLOURS.get(name, (9, 9, 9)))


def evaluations():
    images("plain", 30, lambda i: (48, 32))
    train = ["train", "--data", "plain", "--model", "linear", "--epochs", "3", "-b", "8", "--no-plots", "--threads", "1"]
    learn(*train)  # rectangles: training and validation have one shape, or a linear model would refuse it
    done = learn("eval", "runs/train")
    check("a run is measured on its validation images", "on the 12 validation images of plain" in done.stdout, done)
    check("which are easy", "accuracy 1.0000  (12 of 12)" in done.stdout, done)
    check("no note where nothing differs", "cross-entropy" not in done.stdout and "scaled" not in done.stderr, done)

    learn(*train, "--lr", "1e-6", "--out", "slow")  # whose loss is not 0
    done = learn("eval", "slow/train", "--weights", "last", "-b", "8", "--threads", "1")
    with open("slow/train/results.csv", encoding="utf-8", newline="") as table:
        trained = float(list(csv.DictReader(table))[-1]["valid_loss"])
    measured = re.search(r"^loss ([0-9.]+)", done.stdout, re.MULTILINE)
    # Both are rounded to six digits.
    check(f"the last weights have the loss that training measured, {trained}",
          measured is not None and abs(float(measured[1]) - trained) <= 1e-6, done)

    here = os.getcwd()
    os.chdir("/")
    done = learn("eval", f"{here}/runs/train")
    os.chdir(here)
    check("which are found from another folder", "on the 12 validation images of plain" in done.stdout, done)

    done = learn("eval", "runs/train", "--data", "plain")
    check("of a folder given, all images are measured", "on all 60 images of plain" in done.stdout, done)
    check("each class in full", done.stdout.count(" 30    1.0000") == 2, done)
    done = learn("eval", "runs/train", "--data", "plain", "--valid-limit", "7")
    check("or as many as are asked for", "on 7 images of plain" in done.stdout, done)

    images("tested/test", 5, lambda i: (48, 32))
    done = learn("eval", "runs/train", "--data", "tested")
    check("a test folder is taken, a train folder not asked for", "on all 10 images of tested/test" in done.stdout, done)
    images("both/train", 3, lambda i: (48, 32))
    images("both/valid", 4, lambda i: (48, 32))
    done = learn("eval", "runs/train", "--data", "both")
    check("validation images come before training images", "on all 8 images of both/valid" in done.stdout, done)

    images("mixed", 6, lambda i: (48, 32) if i < 2 else (20 + 9 * i, 100))
    done = learn("eval", "runs/train", "--data", "mixed")
    check("images of any size are scaled to the model's input", "on all 12 images of mixed" in done.stdout, done)
    check("and how many", "scaled 8 of 12 images of 'mixed' to the model's input, 48x32" in done.stderr, done)
    check("rightly", "(12 of 12)" in done.stdout, done)

    images("one", 4, lambda i: (48, 32), ["red"])
    done = learn("eval", "runs/train", "--data", "one")
    check("a class may be missing", "(4 of 4)" in done.stdout and "blue        0         -" in done.stdout, done)
    images("other", 2, lambda i: (48, 32), ["green", "red"])
    done = learn("eval", "runs/train", "--data", "other", status=3)
    check("one that the model does not know is an error", "'green'" in done.stderr and "blue, red" in done.stderr, done)
    learn("eval", "runs/train", "--data", "synthetic10", status=3)


def names_of_checkpoints():
    done = learn("eval", "last", "--data", "one")
    check("'last' is the latest run", "runs/train/weights/best" in done.stdout, done)
    learn("eval", "last", "--out", "elsewhere", status=4)
    done = learn("eval", "runs/train", "--weights", "bset", status=4)
    check("what a run has is listed", "did you mean 'best'?" in done.stderr and "best, last" in done.stderr, done)
    Path("runs/train/weights/best.safetensors").rename("best")
    done = learn("eval", "runs/train")
    check("without a best epoch the last state is measured", "weights/last" in done.stdout, done)
    check("which is said", "has no best epoch yet" in done.stderr, done)
    Path("best").rename("runs/train/weights/best.safetensors")
    done = learn("train", "--data", "plain", "--model", "linear", "--epochs", "1", "-b", "8", "--no-plots",
                 "--pretrained", "runs/train", "--name", "fine")
    check("a run can be trained further", "tensors from 'runs/train/weights/best" in done.stderr, done)


def what_is_refused():
    def refused(status, why, *words):
        done = learn(*words, status=status)
        check(f"the reason: {why}", why in done.stderr, done)

    refused(2, "--out elsewhere has no effect: it is where 'last' looks", "eval", "runs/train", "--out", "elsewhere")
    refused(2, "RUN|FILE|last is empty: leave it out, or give it a value", "eval", "")
    refused(2, "--train-limit 0.001 leaves no image of 48", "train", "--data", "plain", "--train-limit", "0.001",
            "--model", "linear")
    for text, why in (("{}", "does not say its 'learn.config': it was not written for an experiment of 'learn'"),
                      ('{"__metadata__":{"learn.config":"[train]\\nepochs = -1\\n"}}', "'made.safetensors': epochs: -1 is not in [1, 100000]")):
        Path("made.safetensors").write_bytes(len(text).to_bytes(8, "little") + text.encode())
        refused(4, why, "eval", "made.safetensors")
    Path("plain/red").rename("plain/scarlet")
    refused(3, "'plain' has other classes than the model was trained on", "eval", "runs/train")
    Path("plain/scarlet").rename("plain/red")


def other_numbers_than_in_training():
    learn("train", "--data", "plain", "--model", "linear", "--epochs", "1", "-b", "8", "--no-plots", "--precision", "bf16",
          "--label-smoothing", "0.1", "--name", "smooth")
    done = learn("eval", "runs/smooth")
    check("what differs from the training is said", "label smoothing 0.1, it was trained in bf16" in done.stdout, done)


def weights_that_are_not_numbers():
    weights = Path("runs/train/weights/best.safetensors")
    data = weights.read_bytes()
    header = data[8:8 + int.from_bytes(data[:8], "little")]
    key = b'"learn.sha256":"'
    hash_at = 8 + header.index(key) + len(key)
    poisoned = b"\x00\x00\xc0\x7f" * ((len(data) - 8 - len(header)) // 4)
    blank = data[:hash_at] + b"0" * 64 + data[hash_at + 64:8 + len(header)] + poisoned
    digest = hashlib.sha256(blank).hexdigest().encode()
    Path("nan.safetensors").write_bytes(blank[:hash_at] + digest + blank[hash_at + 64:])
    done = learn("eval", "nan.safetensors", status=7)
    check("NaN is never right", "(0 of 12)" in done.stdout, done)
    check("and said", "12 of 12 images a prediction is NaN" in done.stderr, done)


def images_that_are_skipped():
    Path("plain/red/damaged.png").write_bytes(b"no image")
    done = learn("train", "--data", "plain:max_bad=0.1", "--model", "linear", "--epochs", "1", "-b", "8", "--no-plots",
                 "--name", "skips")
    for where, text in (("the terminal", done.stderr), ("run.log", Path("runs/skips/run.log").read_text())):
        check(f"an image that is skipped is named, by {where}",
              "skipped 1 of 61 files" in text and "damaged.png" in text, text)


with tempfile.TemporaryDirectory(prefix="learn eval ") as scratch:
    os.chdir(scratch)
    os.environ.pop("LEARN_DATA", None)
    evaluations()
    what_is_refused()
    names_of_checkpoints()
    other_numbers_than_in_training()
    weights_that_are_not_numbers()
    images_that_are_skipped()
    os.chdir("/")
print(f"{len(failures)} failed" if failures else "all passed")
sys.exit(bool(failures))
