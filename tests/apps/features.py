#!/usr/bin/env python3
"""features.py PATH/TO/learn: tables of numbers, from training to export, and class names that look alike or hold commas.

Flowers of three kinds by two lengths; the price is a sum of both.
"""
import json
import math
import struct
import subprocess
from pathlib import Path

from harness import Trial, read_checkpoint, rows_of, table_of
from png import write_png

trial = Trial(__doc__)
run, refused = trial.expect, trial.refuse
CLASSES = "t.csv:features=(petal,sepal),label=kind"
VALUES = "t.csv:features=(petal,sepal),targets=price"
TRAIN = ["-m", "linear", "--epochs", "20", "-b", "16", "--threads", "1", "--workers", "0", "--lr", "0.1", "--no-plots"]


def check(what, condition, outcome=None):
    trial.check(condition, what, outcome)


def make():
    lines = ["id,kind,petal,sepal,price"]
    for i in range(90):
        kind = ("setosa", "New York, NY", "virginica")[i % 3]
        petal, sepal = 1000 * (i % 3) + i % 7, 0.001 * (i % 5) + 0.01 * (i % 3)
        lines.append(f'{i},"{kind}",{petal},{sepal:.4f},{petal / 1000 + sepal * 100:.4f}')
    Path("t.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def looking():
    info = run("data", "info", CLASSES)
    check("rows are counted", "t: 72 + 18 rows, 2 features" in info.out and "\npetal" in info.out and "virginica" in info.out, info)
    seen = json.loads(run("data", "info", VALUES, "--json").out)
    check("JSON names features", seen["features"] == ["petal", "sepal"] and seen["train"]["rows"] == 72, seen)
    check("of different sizes", seen["mean"][0] > 900 and seen["mean"][1] < 0.02, seen)
    rows = [(i, 7.5 - 2.25 * i, 100 * i * i) for i in range(1, 7)]
    Path("spread.csv").write_text("a,b,cost,split\n" + "".join(f"{a},{b},{cost},{'valid' if a == 6 else 'train'}\n" for a, b, cost in rows),
                                  encoding="utf-8")
    text = run("data", "info", "spread.csv:features=(a,b),targets=cost").out
    for name, values in zip(("a", "b", "cost"), zip(*rows[:-1])):
        wanted = [min(values), sum(values) / len(values), max(values)]
        shown = next(line.split()[1:] for line in text.splitlines() if line.startswith(f"{name} "))
        check(f"smallest, mean and largest of {name} in training rows", [float(one) for one in shown] == wanted, (text, wanted))
    good = run("data", "verify", VALUES)
    check("rows are verified", "t: 90 rows\n" in good.out and "no faults were found" in good.out, good)
    text = Path("t.csv").read_text(encoding="utf-8")
    Path("twice.csv").write_text(text + text.splitlines()[1].replace("setosa", "virginica") + "\n", encoding="utf-8")
    twice = run("data", "verify", "twice.csv:features=(petal,sepal),label=kind", status=3)
    check("equal rows are found", "1 equal numbers with different labels:" in twice.out
          and "twice.csv:92: is 'virginica', twice.csv:2, which is equal, is 'setosa'" in twice.out, twice)
    refused("'t' has features: only images are written as files", "data", "make", CLASSES, "folder")
    refused("features", "data", "show", CLASSES)


def training():
    done = run("train", "--data", CLASSES, *TRAIN, "--name", "kinds")
    check("features of any size are learned", "accuracy 1.0000" in done.out, done)
    done = run("train", "--data", VALUES, *TRAIN, "--name", "prices", "--model", "mlp:width=16")
    check("numbers, too", "valid_loss" in done.out, done)
    page = Path("runs/kinds/report.html").read_text(encoding="utf-8")
    check("the page leaves nothing out", "Left out" not in page and "on the 18 validation rows" in page)
    metadata, tensors = read_checkpoint("runs/kinds/weights/best.safetensors")
    check("a checkpoint names the features", metadata["learn.features"] == "petal\nsepal" and metadata["learn.input"] == "2", metadata)
    check("two numbers for three classes", len(tensors["layers.1.weight"]) == 2 * 3 * 4, list(tensors))
    refused("'t' has features", "train", "--data", CLASSES, *TRAIN, "--augment", "full")
    refused("size is for images; it has no effect with features", "train", "--data", CLASSES, *TRAIN, "--image-size", "8")
    for model in ("resnet9", "wrn_22", "darknet", "small", "resnet18"):
        done = trial.run("train", "--data", CLASSES, *TRAIN, "-m", model)
        check(f"{model} takes images alone", done.status == 2 and f"model '{model}' takes images (H,W,C), not (2)" in done.err, done)
    refused("line 3, column 'sepal': 'wide' is not a number", "train", "--data", "bad.csv:features=(petal,sepal),label=kind", *TRAIN, status=3)
    refused("has no column 'petals'; did you mean 'petal'?", "train", "--data", "t.csv:features=(petals),label=kind", *TRAIN, status=3)
    refused("numbers are read with ':features=(COLUMN,...)'", "train", "--data", "t.csv:targets=price", *TRAIN, status=3)
    run("lr-find", "--data", VALUES, "-m", "linear", "--iterations", "20", "-b", "16")
    run("train", "--resume", "runs/kinds", "--extend", "1")


def evaluating():
    done = run("eval", "runs/kinds", "--predictions", "p.csv", "--top-losses", "2", "--save", "k", "--confusion")
    check("rows are measured", "on the 18 validation rows of t" in done.out and "accuracy 1.0000" in done.out, done)
    rows = table_of("p.csv")
    check("and named by their lines", len(rows) == 18 and all(Path(row["file"]).name.startswith("t.csv:") for row in rows), rows[:1])
    other = run("eval", "runs/kinds", "--data", "t.csv:label=kind")
    check("another table needs no features", "on all 90 rows of t" in other.out and "accuracy 1.0000" in other.out, other)
    run("eval", "runs/prices", "--data", VALUES)
    refused("'t' has the features sepal, petal, the model takes petal, sepal", "eval", "runs/kinds", "--data",
            "t.csv:features=(sepal,petal),label=kind", status=3)
    refused("the model takes features, not images: name a table", "eval", "runs/kinds", "--data", "photos")
    refused("'pets' has features, the model takes images", "eval", "runs/photos", "--data", "pets.csv:features=a", status=3)


def predicting():
    rows = rows_of(run("predict", "runs/kinds", "t.csv", "--csv").out)
    known = table_of("t.csv")
    check("each row has its class", [row["class"] for row in rows] == [row["kind"] for row in known], rows[:2])
    check("and its line", rows[0]["file"] == "t.csv:2" and rows[-1]["file"] == "t.csv:91", rows[-1])
    measured = {Path(row["file"]).name: row for row in table_of("p.csv")}
    check("with the probability of an evaluation", all(
        math.isclose(float(row["probability"]), float(measured[row["file"]]["probability " + row["class"]]), abs_tol=1e-5)
        for row in rows if row["file"] in measured), rows[:2])
    said = run("predict", "runs/prices", "t.csv")
    check("numbers are a table", said.out.splitlines()[0].split() == ["row", "price"] and len(said.out.splitlines()) == 91, said)
    Path("none.csv").write_text("petal,width\n1,2\n", encoding="utf-8")
    said = run("predict", "runs/prices", "none.csv", "t.csv", "--json", status=3)
    shown = json.loads(said.out)
    check("a table without the columns has its error, others their predictions",
          "no column 'sepal'" in shown[0]["error"] and len(shown) == 91 and "price" in shown[1]["values"], said)
    piped = subprocess.run([trial.learn, "predict", "runs/prices", "-", "--csv"], input=b"sepal;petal\n0.01;1000\n", capture_output=True, check=False)
    check("a table may come through a pipe", piped.returncode == 0 and b"standard input:2," in piped.stdout, piped)
    refused("'-' (standard input) may be given only once", "predict", "runs/prices", "-", "-")
    refused("--tta is for images", "predict", "runs/prices", "t.csv", "--tta", "mirror")


def exports():
    refused("'linear' takes features: only models of images are exported", "export", "runs/kinds", "k.onnx")
    run("average", "runs/prices", "runs/prices/weights/last.safetensors", "--out", "mean.safetensors")
    check("a mean keeps the names", read_checkpoint("mean.safetensors")[0]["learn.features"] == "petal\nsepal")
    run("predict", "mean.safetensors", "t.csv")
    run("train", "--data", "t.csv:features=(sepal,petal),targets=price", *TRAIN, "--name", "turned", "--model", "mlp:width=16")
    refused("'learn.features' is 'petal,sepal' in the one and 'sepal,petal' in the other", "average", "runs/prices", "runs/turned", "--out",
            "x.safetensors", status=4)


def without_names():
    """Checkpoints of a program whose arrays have no names, and one that contradicts itself."""
    data = Path("runs/prices/weights/best.safetensors").read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    for key in ("learn.sha256", "learn.format", "learn.features"):
        header["__metadata__"].pop(key, None)
    for name, more in (("nameless", {}), ("wrong", {"learn.features": "petal"})):
        text = json.dumps({**header, "__metadata__": {**header["__metadata__"], **more}}).encode()
        text += b" " * (-len(text) % 8)
        Path(f"{name}.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data[8 + size:])
    refused("does not record the names of its features, so they cannot be found in a table", "predict", "nameless.safetensors", "t.csv")
    run("eval", "nameless.safetensors", "--data", VALUES)
    refused("which does not fit the model's input", "predict", "wrong.safetensors", "t.csv", status=4)


def names():
    """Names of classes, in folders and tables."""
    for i in range(6):
        for folder in ("cat", "Cat", "dog"):
            write_png(Path(f"photos/{folder}/{i}.png"), 8, 8, (40 * i, len(folder) * 20, ord(folder[0])))
    for words in (("data", "info", "photos"), ("train", "--data", "photos", *TRAIN, "--name", "photos", "--epochs", "1")):
        done = run(*words)
        check("names that look alike are warned of", "classes with similar names" in done.err and "'Cat' and 'cat'" in done.err, done)
    found = run("data", "verify", "photos")
    check("and listed", "1 with similar names;" in found.out and "'cat': looks like 'Cat'" in found.out
          and "no faults" not in found.out, found)
    check("as JSON, too", len(json.loads(run("data", "verify", "photos", "--json").out)["alike"]) == 1)
    done = run("train", "--data", CLASSES, *TRAIN, "--classes", '"New York, NY",setosa', "--name", "two")
    check("a class may hold a comma", "accuracy 1.0000" in done.out, done)
    check("and stays in this order", read_checkpoint("runs/two/weights/last.safetensors")[0]["learn.classes"] == "New York, NY\nsetosa")
    run("train", "--resume", "runs/two", "--extend", "1")
    run("train", "--config", "runs/two/config.toml", "--name", "again")
    refused("the closing quote is missing", "train", "--data", CLASSES, *TRAIN, "--classes", '"New York')


make()
Path("pets.csv").write_text("a,label\n1,cat\n2,dog\n", encoding="utf-8")
Path("bad.csv").write_text("petal,sepal,kind\n1,2,a\n1,wide,b\n", encoding="utf-8")
looking()
training()
names()
evaluating()
predicting()
without_names()
exports()
trial.conclude()
