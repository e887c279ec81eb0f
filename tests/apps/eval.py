#!/usr/bin/env python3
"""Tests the measurements of `learn eval`: eval.py PATH/TO/learn.

It measures every given image, scaled to the model's input, and reports the scaling. Prints failures; exit status 1 then.
"""
import csv
import hashlib
import json
import math
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

    drawn = {}
    for name, words in {"usual": [], "sixteen": ["--top-losses", "16"], "three": ["--top-losses", "3"]}.items():
        learn("eval", "runs/train", "--data", "plain", *words, "--save", name)
        drawn[name] = Path(name, "top-losses.png").read_bytes()
    check("16 images are drawn where no number is said", drawn["usual"] == drawn["sixteen"])
    height = {name: int.from_bytes(png[20:24], "big") for name, png in drawn.items()}
    check("and as many as are said", height["three"] < height["sixteen"], height)

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
    check("each class in full", len(re.findall(r"^(blue|red) +30( +1\.0000){3}$", done.stdout, re.M)) == 2, done)
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
    check("a class may be missing", "(4 of 4)" in done.stdout
          and re.search(r"^blue +0( +-){3}$", done.stdout, re.M), done)
    images("other", 2, lambda i: (48, 32), ["green", "red"])
    done = learn("eval", "runs/train", "--data", "other", status=3)
    check("one that the model does not know is an error", "'green'" in done.stderr and "blue, red" in done.stderr, done)
    learn("eval", "runs/train", "--data", "synthetic10", status=3)


def table_of(path):
    with open(path, encoding="utf-8", newline="") as table:
        return list(csv.DictReader(table))


def errors_are_shown():
    """With a model whose mistakes are known: each image is predicted as the class of its colour."""
    images("wrong", 4, lambda i: (48, 32))
    for i in range(3):  # three of the red ones are called blue
        Path(f"wrong/red/{i}.png").rename(f"wrong/blue/red{i}.png")
    done = learn("eval", "runs/train", "--data", "wrong", "--confusion", "--top-losses", "2", "--predictions", "all.csv",
                 "--save", "errors/of it", "--metrics", "error_rate,recall:class=0,kappa,ece:bins=4")
    check("precision, recall and F1 of each class",
          re.search(r"^blue +7 +1\.0000 +0\.5714 +0\.7273 +red \(3\)$", done.stdout, re.M)
          and re.search(r"^red +1 +0\.2500 +1\.0000 +0\.4000$", done.stdout, re.M), done)
    # The means of scikit-learn's classification_report.
    check("their means", re.search(r"^\(mean of the classes\) +8 +0\.6250 +0\.7857 +0\.5636$", done.stdout, re.M)
          and re.search(r"^\(mean of the images\) +8 +0\.9062 +0\.6250 +0\.6864$", done.stdout, re.M), done)
    check("the confused pairs", "\nmost confused: blue as red 3\n" in done.stdout, done)
    check("the matrix", re.search(r"^blue +0 +4 +3$\n^red +1 +\. +1$", done.stdout, re.M), done)
    check("metrics by name", re.search(r"^error_rate 0\.3750  recall_0 0\.5714  kappa 0\.2500  ece_4 0\.\d+$",
                                       done.stdout, re.M), done)
    listed = re.findall(r"^(\S+red\d\.png) +\d", done.stdout, re.M)
    check("the largest losses are of images of the wrong class", len(listed) == 2, done)

    rows = table_of("all.csv")
    check("predictions of all images", len(rows) == 8 and list(rows[0]) ==
          ["file", "truth", "predicted", "loss", "probability blue", "probability red"], rows[:1])
    for row in rows:
        probability = float(row[f"probability {row['truth']}"])
        check(f"the loss of {row['file']} is that of its probability",
              abs(math.exp(-float(row["loss"])) - probability) < 1e-4, row)
        check("whose sum is 1", abs(float(row["probability blue"]) + float(row["probability red"]) - 1) < 1e-5, row)
    loss = float(re.search(r"^loss ([0-9.]+)", done.stdout, re.M)[1])
    check("their mean is the loss", abs(sum(float(row["loss"]) for row in rows) / 8 - loss) < 1e-4, (rows, loss))
    learn("eval", "runs/train", "--data", "wrong", "--predictions", "all.json")
    for row, entry in zip(rows, json.loads(Path("all.json").read_text(encoding="utf-8")), strict=True):
        check("the same as JSON", entry["file"] == row["file"] and entry["truth"] == row["truth"]
              and entry["predicted"] == row["predicted"]
              and abs(entry["probabilities"]["red"] - float(row["probability red"])) < 1e-5, entry)

    saved = Path("errors/of it")
    check("the folder has tables and drawings", sorted(path.name for path in saved.iterdir()) ==
          ["calibration.csv", "calibration.png", "classes.csv", "confusion.csv", "confusion.png", "top-losses.png"], saved)
    for drawing in saved.glob("*.png"):
        check(f"{drawing.name} is a PNG file", drawing.read_bytes().startswith(b"\x89PNG\r\n"), drawing)
    matrix = table_of(saved / "confusion.csv")
    check("the matrix as a table", [(row["truth"], row["blue"], row["red"], row["NaN"]) for row in matrix] ==
          [("blue", "4", "3", "0"), ("red", "0", "1", "0")], matrix)
    scores = table_of(saved / "classes.csv")
    check("scores as a table", [row["class"] for row in scores] == ["blue", "red", "macro mean", "weighted mean"]
          and scores[0]["f1"] == "0.727273", scores)
    check("all images are in a bin", sum(int(row["images"]) for row in table_of(saved / "calibration.csv")) == 8, saved)


def training_images():
    done = learn("eval", "runs/train", "--set", "train")
    check("training images are measured if asked", "on the 48 training images of plain" in done.stdout, done)
    done = learn("eval", "runs/train", "--set", "train", "--valid-limit", "5")
    check("or some of them", "on 5 training images of plain" in done.stdout, done)
    learn("train", "--data", "plain", "--model", "linear", "--epochs", "2", "-b", "9", "--no-plots", "--threads", "1",
          "--metrics", "error_rate,f1,top_k:k=1", "--train-metrics", "--monitor", "train_f1", "--out", "measured", "--name", "run",
          "--augment", "none", "--lr", "1e-9")
    rows = table_of("measured/run/results.csv")
    names = ["error_rate", "f1", "top_1"]
    check("a training has the columns of its metrics", [name for name in rows[0] if name in names] == names
          and [name for name in rows[0] if name.startswith("train_")][1:] == [f"train_{name}" for name in names], rows)
    done = learn("eval", "measured/run", "--set", "train", "--weights", "last", "--metrics", "f1")
    # The weights barely change and augmentation is off, so training and measurement agree.
    check("which are those of the model", f"f1 {float(rows[-1]['train_f1']):.4f}" in done.stdout, (rows[-1], done))
    done = learn("train", "--data", "plain", "--model", "linear", "--metrics", "f1", "--epochs", "1",
                 "--out", "measured", status=2)
    check("what to monitor must be measured", "unknown value 'accuracy' to monitor; known values: train_loss, valid_loss, f1"
          in done.stderr, done)


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

    refused(2, "--out elsewhere has no effect: 'runs/train' is a path", "eval", "runs/train", "--out", "elsewhere")
    refused(2, "--set train has no effect on --data plain", "eval", "runs/train", "--data", "plain", "--set", "train")
    refused(2, "--predictions all.txt: the name must end in .csv or .json", "eval", "runs/train", "--predictions", "all.txt")
    refused(2, "did you mean 'accuracy'", "eval", "runs/train", "--metrics", "acuracy")
    refused(2, "metric 'f1' is given twice", "eval", "runs/train", "--metrics", "f1,f1")
    refused(2, "metric 'top_5' needs at least 5 classes, but there are 2", "eval", "runs/train", "--metrics", "top_k")
    refused(2, "metric 'recall_2' needs at least 3 classes", "eval", "runs/train", "--metrics", "recall:class=2")
    Path("a file").write_bytes(b"")
    refused(5, "cannot create 'a file/in'", "eval", "runs/train", "--save", "a file/in")
    refused(5, "nowhere/all.json", "eval", "runs/train", "--predictions", "nowhere/all.json")
    refused(2, "RUN|FILE|last is empty: omit it, or give it a value", "eval", "")
    refused(2, "--train-limit 0.001 leaves no image of 48", "train", "--data", "plain", "--train-limit", "0.001",
            "--model", "linear")
    for text, why in (("{}", "does not record 'learn.config': it was not written by an experiment of 'learn'"),
                      ('{"__metadata__":{"learn.config":"[train]\\nepochs = -1\\n"}}', "'made.safetensors': epochs: -1 is not in [1, 100000]")):
        Path("made.safetensors").write_bytes(len(text).to_bytes(8, "little") + text.encode())
        refused(4, why, "eval", "made.safetensors")
    Path("plain/red").rename("plain/scarlet")
    refused(3, "'plain' has different classes from those that the model was trained on", "eval", "runs/train")
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
    done = learn("eval", "nan.safetensors", "--confusion", "--top-losses", "1", "--save", "nan", "--predictions", "nan.json",
                 "--metrics", "kappa,auc", status=7)
    check("is a class of its own in the matrix", re.search(r"^red +1 +\. +\. +6$", done.stdout, re.M), done)
    check("has the largest loss", re.search(r"\.png +nan +\w+ +nan +NaN$", done.stdout, re.M), done)
    check("a single class has no area", "auc nan" in done.stdout and "kappa 0.0000" in done.stdout, done)
    entry = json.loads(Path("nan.json").read_text(encoding="utf-8"))[0]
    check("and is nothing in JSON", entry["predicted"] is None and entry["loss"] is None
          and entry["probabilities"] == {"blue": None, "red": None}, entry)
    check("and a column of the matrix", [row["NaN"] for row in table_of("nan/confusion.csv")] == ["6", "6"], done)
    check("and said", "12 of 12 images have a NaN in their predictions" in done.stderr, done)


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
    errors_are_shown()
    training_images()
    what_is_refused()
    names_of_checkpoints()
    other_numbers_than_in_training()
    weights_that_are_not_numbers()
    images_that_are_skipped()
    os.chdir("/")
print(f"{len(failures)} failed" if failures else "all passed")
sys.exit(bool(failures))
