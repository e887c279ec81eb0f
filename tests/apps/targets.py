#!/usr/bin/env python3
"""targets.py PATH/TO/learn: several labels for each image, and real numbers, from training to export.

Images of one colour each: the labels are its channels that are bright, the numbers how bright two of them are.
"""
import csv
import json
import math
import re
from pathlib import Path

from harness import Trial, read_checkpoint, rows_of, table_of
from png import write_png

trial = Trial(__doc__)
run, refused = trial.expect, trial.refuse
LABELS = "set/labels.csv:label_delim=;,label=tags,split=part"
VALUES = "set/values.csv:targets=(warmth,depth),split=part"
TRAIN = ["--model", "linear", "--epochs", "12", "-b", "8", "--threads", "1", "--workers", "0", "--augment", "none", "--lr", "0.02"]


def check(what, condition, outcome=None):
    trial.check(condition, what, outcome)


def close(a, b, tolerance=1e-4):
    return abs(float(a) - float(b)) <= tolerance


def make():
    tags, numbers = [], []
    for i in range(48):
        bright = [name for bit, name in enumerate(("red", "green", "blue")) if i >> bit & 1]
        write_png(Path(f"set/images/{i:02}.png"), 8, 6, tuple(210 + i % 5 if name in bright else 30 + i % 7 for name in ("red", "green", "blue")))
        part = "valid" if i % 3 == 0 else "train"
        tags.append((f"images/{i:02}.png", ";".join(bright), part))
        r, b = i * 5, 255 - (i * 37) % 200
        write_png(Path(f"set/shades/{i:02}.png"), 8, 6, (r, 60, b))
        numbers.append((f"shades/{i:02}.png", r / 100, 4 + b / 50, part))
    for name, header, rows in (("labels.csv", ("file", "tags", "part"), tags), ("values.csv", ("file", "warmth", "depth", "part"), numbers)):
        with open(f"set/{name}", "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([header, *rows])


def read_header(path):
    data = Path(path).read_bytes()
    return json.loads(data[8:8 + int.from_bytes(data[:8], "little")])["__metadata__"]


def training():
    done = run("train", "--data", LABELS, *TRAIN, "--name", "labels", "--callbacks", "tensorboard")
    check("labels are measured by decisions", "accuracy_multi" in done.out and "best  epoch" in done.out, done)
    check("and monitored by the loss", "the targets are several labels per sample: the best epoch has the lowest valid_loss" in done.err, done)
    check("their images are drawn for TensorBoard", "no images" not in done.err, done)
    check("and their curves", Path("runs/labels/results.png").exists(), done)
    done = run("train", "--data", VALUES, *TRAIN, "--name", "values", "--metrics", "mae,rmse,r2", "--train-metrics", "--monitor", "rmse")
    rows = table_of("runs/values/results.csv")
    check("values have metrics of their own", {"mae", "rmse", "r2", "train_mae"} <= set(rows[0]), rows[0])
    best = min(range(len(rows)), key=lambda i: float(rows[i]["rmse"]))
    check("of which the lowest is best", f"best  epoch {best + 1}  rmse" in done.out, done)
    for row in rows:
        check("no mean of roots is above the root of the mean", float(row["rmse"]) <= math.sqrt(float(row["valid_loss"])) * 1.00001, row)
    refused("metric 'accuracy' is for classes; the targets of 'values' are real numbers, for which there are mae, r2, rmse",
            "train", "--data", VALUES, *TRAIN, "--metrics", "accuracy", "--name", "x")
    refused("unknown value 'accuracy' to monitor", "train", "--data", LABELS, *TRAIN, "--monitor", "accuracy", "--name", "x")
    refused("metric 'mae' is for real numbers; the targets of 'labels' are several labels per sample", "train", "--data", LABELS, *TRAIN,
            "--metrics", "mae", "--name", "x")
    run("train", "--data", LABELS, *TRAIN, "--name", "weighted", "--loss", "focal:gamma=1", "--epochs", "1")
    done = run("eval", "runs/weighted")
    check("another loss of the training is said", "measured in fp32 as plain binary cross-entropy; the training used the loss focal:gamma=1" in done.out, done)
    run("train", "--data", LABELS, *TRAIN, "--name", "weighted", "--exist-ok", "--class-weights", "balanced", "--epochs", "1")
    done = run("eval", "runs/weighted")
    check("and weights of labels", "the training used class weights balanced" in done.out, done)


def evaluated_labels():
    done = run("eval", "runs/labels", "--top-losses", "2", "--predictions", "l.csv", "--save", "l", "--metrics", "f1_multi,average_precision")
    check("on the validation images", "on the 16 validation images of labels" in done.out, done)
    rows = table_of("l.csv")
    check("each image has truth, prediction, loss and probabilities", list(rows[0]) ==
          ["file", "truth", "predicted", "loss", "probability blue", "probability green", "probability red"] and len(rows) == 16, rows[:1])
    right = 0
    for row in rows:
        truth, said = set(row["truth"].split(";")), set(row["predicted"].split(";"))
        names = ("blue", "green", "red")
        right += sum((n in truth) == (n in said) for n in names)
        check("what is predicted is above a half", all((float(row[f"probability {n}"]) > 0.5) == (n in said) for n in names), row)
        loss = -sum(math.log(p if n in truth else 1 - p) for n in names for p in [float(row[f"probability {n}"])]) / 3
        check(f"the loss of {row['file']} is the mean of its labels'", close(loss, row["loss"], 1e-4), row)
    check("the share of right decisions", f"accuracy_multi {right / 48:.4f}  ({right} of 48 decisions)" in done.out, done)
    mean = sum(float(row["loss"]) for row in rows) / 16
    said = re.search(r"^loss ([0-9.]+) \(binary cross-entropy\)", done.out, re.M)
    check("the loss is named, and the mean of all", said and close(said[1], mean), done)
    check("images that are right in all", re.search(r"^all labels correct: \d+ of 16 images, at a threshold of 0.5$", done.out, re.M), done)
    check("no word of classes", not re.search("confused|calibration|confusion", done.out), done)
    scores = table_of("l/labels.csv")
    check("a row for each label and their mean", [s["label"] for s in scores] == ["blue", "green", "red", "mean"], scores)
    for s in scores[:3]:
        having = [row for row in rows if s["label"] in row["truth"].split(";")]
        said = [row for row in rows if s["label"] in row["predicted"].split(";")]
        both = [row for row in having if row in said]
        check(f"recall of {s['label']}", int(s["images"]) == len(having) and close(s["recall"], len(both) / len(having)), s)
        check(f"precision of {s['label']}", int(s["predicted"]) == len(said) and close(s["precision"], len(both) / max(len(said), 1)), s)
        check("in the table too", re.search(rf"^{s['label']} +{s['images']} +{s['predicted']} ", done.out, re.M), done)
    check("metrics by name are those of the table", f"f1_multi {float(scores[3]['f1']):.4f}  average_precision "
          f"{float(scores[3]['average_precision']):.4f}" in done.out, (done, scores))
    check("tables and drawings", sorted(p.name for p in Path("l").iterdir()) == ["labels.csv", "precision-recall.png", "top-losses.png"])
    check("largest losses", len(re.findall(r"^set/images/\d\d.png +\d", done.out, re.M)) == 2, done)

    run("eval", "runs/labels", "--predictions", "l.json", "--threshold", "0")
    for row, entry in zip(rows, json.loads(Path("l.json").read_text(encoding="utf-8")), strict=True):
        check("the same as JSON, with another threshold", entry["file"] == row["file"] and entry["predicted"] == ["blue", "green", "red"]
              and ";".join(entry["truth"]) == row["truth"] and close(entry["probabilities"]["red"], row["probability red"]), entry)
    everything = run("eval", "runs/labels", "--data", "set/labels.csv:label_delim=;,label=tags")
    check("of other data, all images", "on all 48 images of labels" in everything.out, everything)
    refused("--confusion is for models with classes as targets; those of 'linear' are several labels per sample",
            "eval", "runs/labels", "--confusion")
    refused("metric 'kappa' is for classes; the targets of 'linear' are several labels per sample", "eval", "runs/labels", "--metrics", "kappa")
    refused("the targets of 'values' are real numbers, the model was trained on several labels per sample", "eval", "runs/labels",
            "--data", VALUES, status=3)


def evaluated_values():
    done = run("eval", "runs/values", "--top-losses", "2", "--predictions", "v.csv", "--save", "v", "--metrics", "r2")
    rows = table_of("v.csv")
    check("truths and predictions by name", list(rows[0]) ==
          ["file", "truth warmth", "truth depth", "predicted warmth", "predicted depth", "loss"] and len(rows) == 16, rows[:1])
    scores = {s["value"]: s for s in table_of("v/values.csv")}
    check("a row for each value and their mean", list(scores) == ["warmth", "depth", "mean"], scores)
    for name in ("warmth", "depth"):
        truths = [float(row[f"truth {name}"]) for row in rows]
        errors = [float(row[f"predicted {name}"]) - truth for row, truth in zip(rows, truths)]
        mean = sum(truths) / 16
        spread = sum((t - mean) ** 2 for t in truths)
        squares = sum(e * e for e in errors)
        for key, wanted in (("mean", mean), ("deviation", math.sqrt(spread / 16)), ("mae", sum(map(abs, errors)) / 16),
                            ("rmse", math.sqrt(squares / 16)), ("r2", 1 - squares / spread)):
            check(f"{key} of {name}", close(scores[name][key], wanted, 1e-4 * max(1, abs(wanted))), (scores[name], wanted))
    loss = sum(float(row["loss"]) for row in rows) / 16
    said = re.search(r"^loss ([0-9.]+) \(mean squared error\)  MAE ", done.out, re.M)
    check("the loss is named, and the mean of all", said and close(said[1], loss, 1e-4 * loss), done)
    check("metrics by name", f"r2 {float(scores['mean']['r2']):.4f}" in done.out, done)
    check("tables and drawings", sorted(p.name for p in Path("v").iterdir()) == ["predictions.png", "top-losses.png", "values.csv"])
    check("largest losses", len(re.findall(r"^set/shades/\d\d.png +\d", done.out, re.M)) == 2, done)
    run("eval", "runs/values", "--predictions", "v.json")
    first = json.loads(Path("v.json").read_text(encoding="utf-8"))[0]
    check("the same as JSON", first["truth"] == {name: float(rows[0][f"truth {name}"]) for name in ("warmth", "depth")}
          and close(first["predicted"]["warmth"], rows[0]["predicted warmth"]), first)
    refused("--threshold 0.3 is for models with several labels per sample as targets; those of 'linear' are real numbers",
            "eval", "runs/values", "--threshold", "0.3")
    refused("--confusion is for models with classes as targets", "eval", "runs/values", "--confusion")
    refused("'values' has different values from those that the model was trained on: warmth, depth", "eval", "runs/values",
            "--data", "set/values.csv:targets=(depth,warmth)", status=3)


def predictions():
    images = ["set/images/00.png", "set/images/07.png", "set/images/06.png"]
    lines = [line.split() for line in run("predict", "runs/labels", *images).out.splitlines()]
    check("labels by name with their probabilities, or none", lines[0] == ["image", "labels"] and lines[1][1:] == ["-"]
          and sorted(lines[2][1::2]) == ["blue", "green", "red"] and float(lines[2][2].rstrip(",")) > 0.5, lines)
    rows = rows_of(run("predict", "runs/labels", *images, "--csv").out)
    check("as CSV with all probabilities", list(rows[0]) == ["file", "labels", "probability blue", "probability green", "probability red", "error"]
          and rows[0]["labels"] == "" and set(rows[2]["labels"].split(";")) == {"blue", "green"}, rows)
    for threshold in (0, 0.9999999):
        named = [row["labels"] for row in rows_of(run("predict", "runs/labels", *images, "--csv", "--threshold", str(threshold)).out)]
        check(f"labels above {threshold}", [len(row.split(";")) for row in named if row] == [3] * (3 if threshold == 0 else 0), named)
    measured = {row["file"]: row for row in table_of("l.csv")}["set/images/06.png"]
    check("which are those of an evaluation", close(rows[2]["probability red"], measured["probability red"]), (rows[2], measured))
    shown = json.loads(run("predict", "runs/labels", *images, "--json", "--threshold", "0").out)
    check("as JSON, the most probable first", [len(p["labels"]) for p in shown] == [3, 3, 3] and all(
        p["labels"] == sorted(p["labels"], key=lambda one: -one["probability"]) for p in shown), shown)
    check("all of them by name", set(shown[0]["probabilities"]) == {"blue", "green", "red"}, shown)
    refused("--top 1 is for models with classes as targets", "predict", "runs/labels", images[0], "--top", "1")

    images = ["set/shades/00.png", "set/shades/45.png"]
    rows = rows_of(run("predict", "runs/values", *images, "--csv").out)
    check("values by name", list(rows[0]) == ["file", "warmth", "depth", "error"], rows)
    measured = {row["file"]: row for row in table_of("v.csv")}["set/shades/45.png"]
    check("which are those of an evaluation", close(rows[1]["depth"], measured["predicted depth"], 1e-4), (rows, measured))
    lines = [line.split() for line in run("predict", "runs/values", *images, "--tta", "mirror").out.splitlines()]
    # Images of one colour are their own mirror images; of a linear model the mean is another sum.
    check("as a table, and with mirror images", lines[0] == ["image", "warmth", "depth"] and len(lines) == 3, lines)
    Path("none.png").write_bytes(b"no image")
    shown = json.loads(run("predict", "runs/values", images[0], "none.png", "--json", status=3).out)
    check("as JSON", set(shown[0]["values"]) == {"warmth", "depth"} and close(shown[0]["values"]["depth"], rows[0]["depth"], 1e-4)
          and "error" in shown[1], shown)
    refused("--threshold 0.3 is for models with several labels per sample as targets", "predict", "runs/values", images[0], "--threshold", "0.3")
    refused("--top 2 is for models with classes as targets", "predict", "runs/values", images[0], "--top", "2")


def pages():
    for name, words in (("labels", ("binary cross-entropy", "mean average precision", "Precision and recall", "Largest losses", "true labels")),
                        ("values", ("mean squared error", "MAE", "predicted value and the true one"))):
        page = Path(f"runs/{name}/report.html").read_text(encoding="utf-8")
        for word in words:
            check(f"the page of {name} says '{word}'", word in page)
        check(f"the page of {name} leaves nothing out", "Left out" not in page and "Confusion matrix" not in page)
        done = run("report", f"runs/{name}", "--out", f"{name}.html")
        check("and is written again", Path(f"{name}.html").stat().st_size > 10000, done)


def exports():
    for name, output in (("labels", b"logits"), ("values", b"values")):
        run("export", f"runs/{name}", f"{name}.onnx")
        data = Path(f"{name}.onnx").read_bytes()
        check(f"the output of {name} has its name", output in data and (b"logits" in data) == (name == "labels"))
        check("and the file says what it is", b"targets" in data and name.encode() in data)
        run("export", f"runs/{name}", f"{name}.safetensors")
        check("for PyTorch too", read_header(f"{name}.safetensors")["learn.targets"] == name)
        text = Path(f"{name}.py").read_text(encoding="utf-8")
        check("in words", f"{output.decode()} = model(" in text and ("logits.sigmoid()" in text) == (name == "labels"), text[:400])
        compile(text, f"{name}.py", "exec")
        run("import", f"{name}.safetensors", "--out", f"{name}-back.safetensors")
        check("and comes back as what it was", read_checkpoint(f"{name}-back.safetensors")[0]["learn.targets"] == name)
        run("average", f"runs/{name}", f"{name}-back.safetensors", "--out", f"{name}-mean.safetensors")
        check("and is averaged", read_checkpoint(f"{name}-mean.safetensors")[0]["learn.targets"] == name)
    run("export", "runs/labels", "p.onnx", "--sigmoid")
    check("labels have probabilities of their own", b"Sigmoid" in Path("p.onnx").read_bytes() and b"probabilities" in Path("p.onnx").read_bytes())
    refused("--softmax is for models with classes as targets; those of 'linear' are several labels per sample",
            "export", "runs/labels", "x.onnx", "--softmax")
    refused("--sigmoid is for models with several labels per sample as targets; those of 'linear' are real numbers",
            "export", "runs/values", "x.onnx", "--sigmoid")
    refused("--sigmoid is for ONNX", "export", "runs/labels", "x.safetensors", "--sigmoid")
    refused("cannot be averaged: 'learn.targets' is 'labels' in the one and 'values' in the other",
            "average", "runs/labels", "runs/values", "--out", "x.safetensors", status=4)


make()
training()
evaluated_labels()
evaluated_values()
predictions()
pages()
exports()
trial.conclude()
