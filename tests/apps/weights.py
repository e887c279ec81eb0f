#!/usr/bin/env python3
"""Weights that are taken over for other classes, batches of one sample, and files that no result may replace:
weights.py PATH/TO/learn.
"""
import json
import os
from pathlib import Path

from harness import Trial
from png import write_png

SHORT = ["--epochs", "1", "--no-plots", "--no-report", "--threads", "1", "--workers", "0", "--device", "cpu", "--augment", "none"]
FROZEN = ["--lr", "1e-30", "--schedule", "const", "--weight-decay", "0"]
COLOURS = {"blue": (10, 20, 230), "green": (20, 220, 30), "red": (240, 10, 20)}
trial = Trial(__doc__)
learn = trial.expect


def check(what, ok, seen=None):
    trial.check(ok, what, seen)


def refused(why, *words, status=2):
    outcome = trial.refuse(why, *words, status=status)
    check("no place in the source is named", ".cpp:" not in outcome.err, outcome)
    return outcome


def photos(folder, names, train, valid=2):
    """Writes `train` images in total for training, and some of each class for validation."""
    for number in range(train):
        name = names[number % len(names)]
        write_png(Path(folder, "train", name, f"{number}.png"), 8, 8, COLOURS[name])
    for name in names:
        for number in range(valid):
            write_png(Path(folder, "valid", name, f"{number}.png"), 8, 8, COLOURS[name])


def accuracy(run):
    return json.loads(Path("runs", run, "run.json").read_text(encoding="utf-8"))["results"]["accuracy"]


def classes():
    photos("three", ["blue", "green", "red"], 12)
    photos("two", ["green", "red"], 8)
    learn("train", "--data", "three", "--name", "three", "-m", "mlp:width=8,weight_norm=true", "-b", "4", *SHORT, "--epochs", "8", "--lr", "0.02")
    check("it learns", accuracy("three") == 1, accuracy("three"))
    for source in ("runs/three", "runs/three/weights/last.safetensors"):
        taken = ["train", "--pretrained", source, "-m", "mlp:width=8,weight_norm=true", "-b", "4", *SHORT, *FROZEN, "--exist-ok"]
        done = learn(*taken, "--data", "three", "--classes", "red,blue,green", "--name", "turned")
        check("classes in another order mean the same", accuracy("turned") == 1, done)
        check("what was found is said", "3 of 3 classes found by name: red, blue, green" in done.err, done)
        done = learn(*taken, "--data", "two", "--name", "fewer", "--normalize", "cifar10")
        check("fewer classes", "2 of 2 classes found by name: green, red; 1 in the file not used: blue" in done.err, done)
        check("another normalization", "with a different mean and standard deviation: " in done.err and
              "here 0.491:0.482:0.447:0.247:0.243:0.261" in done.err, done)
    again = learn("train", "--data", "two", "--name", "two", "-m", "mlp:width=8,weight_norm=true", "-b", "4", *SHORT)
    check("nothing is said where nothing is taken", "found by name" not in again.err, again)
    done = learn(*taken, "--data", "three", "--name", "more", "--pretrained", "runs/two")
    check("more classes", "2 of 3 classes found by name: green, red; 1 new: blue" in done.err, done)

    learn("export", "runs/three", "three.safetensors")
    done = learn("import", "three.safetensors", "--out", "back.safetensors", "--classes", "red,blue,green")
    check("an import takes classes by name", "3 of 3 classes found by name: red, blue, green" in done.err, done)
    done = learn("eval", "back.safetensors", "--data", "three")
    check("and they mean the same", "accuracy 1.0000" in done.out, done)
    refused("does not have these classes of the model: 1 of 2 classes found by name: red; 1 new: pink", "import", "three.safetensors",
            "--out", "no.safetensors", "--classes", "red,pink", status=4)
    refused("cannot be averaged: 'learn.classes' is", "average", "runs/three", "back.safetensors", "--out", "no.safetensors",
            status=4)
    learn("train", "--data", "two", "--name", "renamed", "-m", "linear", "-b", "4", *SHORT)
    os.rename("two/train/green", "two/train/zebra")
    os.rename("two/valid/green", "two/valid/zebra")
    refused("the data differ from those of", "train", "--resume", "runs/renamed", "--extend", "1", status=3)


def batches():
    photos("odd", ["green", "red"], 33)
    for more in ([], ["--precision", "bf16"], ["--precision", "fp16-amp"], ["--accumulate", "2"], ["-m", "resnet9:width=4"]):
        refused("the last of 2 training batches has one sample, so BatchNorm", "train", "--data", "odd", "-m", "small:width=4",
                "-b", "32", "--name", "odd", *SHORT, *more)
    done = refused("skip that batch (--drop-last, LoaderOptions::drop_last), or change the batch size from 32 "
                   "(--batch-size 31)", "train", "--data", "odd", "-m", "small:width=4", "-b", "32", "--name", "odd", *SHORT)
    check("nothing was written", not Path("runs/odd").exists(), done)
    refused("each training batch has one sample", "train", "--data", "odd", "-m", "small:width=4", "-b", "1", *SHORT)
    for dry in ("--dry-run", "--fast-dev-run"):
        refused("has one sample", "train", "--data", "odd", "-m", "small:width=4", "-b", "32", dry)
    learn("train", "--data", "odd", "-m", "small:width=4", "-b", "31", "--name", "other", *SHORT)
    learn("train", "--data", "odd", "-m", "linear", "-b", "32", "--name", "linear", *SHORT)
    learn("train", "--data", "odd", "-m", "small:width=4", "-b", "32", "--params")
    done = learn("train", "--data", "odd", "-m", "small:width=4", "-b", "32", "--drop-last", "--name", "dropped", *SHORT)
    check("what is left out is said", "1 of 33 training images are left out in each epoch" in done.err, done)
    check("and validation is whole", "33/4" in done.err, done)
    refused("--drop-last: true then, false now", "train", "--resume", "runs/dropped", "--extend", "1", "--no-drop-last")
    learn("train", "--resume", "runs/dropped", "--extend", "1")
    learn("lr-find", "--data", "odd", "-m", "small:width=4", "-b", "32", "--drop-last", "--iterations", "6", "--workers", "0")
    learn("batch-size-find", "--data", "odd", "-m", "small:width=4", "--smallest", "32", "--largest", "32", "--workers", "0")


def kept():
    """Calls each command with an output option on files that it must not replace."""
    learn("train", "--data", "three", "--name", "a", "-m", "linear", "-b", "4", *SHORT)
    learn("train", "--data", "three", "--name", "b", "-m", "linear", "-b", "4", "--seed", "2", *SHORT)
    learn("export", "runs/a", "plain.safetensors")
    os.symlink("plain.safetensors", "link.safetensors")
    best, last = "runs/a/weights/best.safetensors", "runs/a/weights/last.safetensors"
    table = Path("table.csv")
    table.write_text("file,label\n" + "".join(f"{path},{path.parent.name}\n" for path in sorted(Path("three/valid").rglob("*.png"))),
                     encoding="utf-8")
    some = "three/train/red/2.png"
    files = [best, last, "runs/a/run.json", "runs/a/results.csv", "plain.safetensors", "table.csv", some]
    before = {name: Path(name).read_bytes() for name in files}
    own, made = "belongs to the run", "an input of the result"
    refused(made, "export", "runs/a", best)
    refused(own, "export", "runs/b", best)
    refused(made, "export", best, best)
    refused(own, "average", "runs/a", "runs/b", "--out", last)
    refused(made, "average", "runs/a", "runs/b", "--out", best)
    refused(made, "import", "plain.safetensors", "--out", "plain.safetensors")
    refused(made, "import", "plain.safetensors", "--out", "link.safetensors")
    refused(made, "import", "link.safetensors", "--out", "./plain.safetensors")
    refused(own, "report", "runs/a", "--no-evaluate", "--images", "0", "--out", "runs/a/run.json")
    refused(own, "eval", "runs/a", "--predictions", "runs/a/results.csv")
    refused(made, "eval", "runs/a", "--data", "table.csv", "--predictions", "table.csv")
    refused("is a file of 'three'", "show-batch", "--data", "three", "--out", some)
    refused("is a file of 'three'", "data", "show", "three", "--out", some)
    refused("is a file of 'three'", "show-schedule", "--data", "three", "--out", some)
    refused("is a file of 'three'", "lr-find", "--data", "three", "--plot", some)
    refused("three', an input of the result", "plot", "runs/b", "runs/a", "--out", some)
    Path("three/page.html").write_text("mine", encoding="utf-8")
    refused("three', an input of the result", "report", "runs/a", "--no-evaluate", "--images", "0", "--out", "three/page.html")
    Path("three/page.html").unlink()
    refused(own, "lr-find", "--data", "three", "--csv", "runs/a/results.csv")
    refused(own, "audit", "--data", "three", "--save", "runs/a/results.csv")
    os.symlink("runs/a/weights/best.safetensors", "drawing.png")
    refused(own, "plot", "runs/a", "--out", "drawing.png")
    refused("exists and is not empty", "data", "make", "three", "three")
    Path("named").mkdir()
    labels = Path("named/labels.csv")
    labels.write_text("file,labels\n" + "".join(f"../{path},{path.parent.name}\n" for path in sorted(Path("three").rglob("*.png"))),
                      encoding="utf-8")
    words = labels.read_bytes()
    learn("train", "--data", "named/labels.csv:label_delim=;", "--name", "labels", "-m", "linear", "-b", "4", "--val-split", "0.3", *SHORT)
    refused(made, "eval", "runs/labels", "--save", "named")
    check("the table is as it was", labels.read_bytes() == words)
    for name, text in before.items():
        check(f"{name} is as it was", Path(name).read_bytes() == text)
    learn("average", "runs/a", "runs/b", "--out", "runs/a/weights/mean.safetensors")
    learn("export", "runs/a", "runs/a/model.onnx")

    # The file in place of the state is not a state; the previous one is.
    learn("train", "--data", "three", "--name", "c", "-m", "linear", "-b", "4", *SHORT, "--epochs", "2")
    state = Path("runs/c/weights/last.safetensors")
    state.write_bytes(Path("runs/a/weights/mean.safetensors").read_bytes())
    done = learn("train", "--resume", "runs/c", "--extend", "1")
    check("the state before the last is taken", "does not contain the state of a training" in done.err and "last.prev" in done.err, done)


def names():
    """Names that a checkpoint cannot hold are known before the first batch."""
    odd = os.fsdecode(b"caf\xff")
    photos(odd, ["green", "red"], 8)
    for words in (["--data", odd, "--name", "n"], ["--data", "two", "--name", os.fsdecode(b"n\xfe")]):
        done = refused("a name is not UTF-8", "train", "-m", "linear", "-b", "4", *SHORT, *words)
        check("it is shown", r"caf\xff" in done.err or r"n\xfe" in done.err, done)
    check("nothing was written", not list(Path("runs").glob("n*")))
    os.chdir(odd)
    learn("train", "--data", ".", "-m", "linear", "-b", "4", "--name", "inside", *SHORT)
    learn("train", "--resume", "runs/inside", "--extend", "1")
    os.chdir("..")


classes()
batches()
kept()
names()
trial.conclude()
