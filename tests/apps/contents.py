#!/usr/bin/env python3
"""contents.py PATH/TO/learn: what `learn eval` and a training write is what an independent computation makes of it.

Tables, JSON, pages and figures of one small set of images are computed again here, from the probabilities of each image and from a
run's other files.
"""
import html
import json
import math
import os
import re
import shutil
import statistics
from pathlib import Path

from harness import rows_of, table_of
from recomputed import (CLASSES, TRAIN, calibration, check, close, expected_of_classes, judged, make_images, read_json, run, same, share, trial)


def check_evaluation(what, rows, said, folder, text):
    """JSON, tables and text of an evaluation against what follows from the probabilities."""
    wanted = expected_of_classes(rows)
    same(what, {key: said.get(key) for key in wanted}, wanted)
    bins = calibration(rows)
    seen = table_of(f"{folder}/calibration.csv")
    check(f"{what}: fifteen bins", [list(row) for row in seen] == [["above", "up_to", "images", "confidence", "correct"]] * 15, seen)
    for bin_, row in zip(bins, seen):
        for key, value in bin_.items():
            check(f"{what}: {key} of the bin above {bin_['above']:.3f}", row[key] == "" if value == "" else close(row[key], value), (row, bin_))
    names = [row["class"] for row in table_of(f"{folder}/classes.csv")]
    check(f"{what}: the rows of classes.csv", names == [*CLASSES, "macro mean", "weighted mean"], names)
    for row, one in zip(table_of(f"{folder}/classes.csv"), [*wanted["classes"], {"images": len(rows), **wanted["mean_of_classes"]},
                                                         {"images": len(rows), **wanted["mean_of_images"]}]):
        for key in ("images", "precision", "recall", "f1"):
            check(f"{what}: {key} of {row['class']} in classes.csv", close(row[key], one[key] or 0), (row, one))
    matrix = [[int(row[name]) for name in CLASSES] for row in table_of(f"{folder}/confusion.csv")]
    check(f"{what}: confusion.csv", matrix == wanted["confusion"] and all(row["NaN"] == "0" for row in table_of(f"{folder}/confusion.csv")), matrix)
    four = lambda value: "-" if value is None else f"{value:.4f}"
    for one in wanted["classes"]:
        line = re.search(rf"^{one['class']} +(\d+) +(\S+) +(\S+) +(\S+)", text, re.M)
        check(f"{what}: the line of {one['class']}", line is not None and line.groups() == (
            str(one["images"]), four(one["precision"]), four(one["recall"]), four(one["f1"])), text)
    check(f"{what}: the headline", f"loss {wanted['loss']:.5f}"[:-1] in text and
          f"accuracy {wanted['accuracy']:.4f}  ({wanted['right']} of {len(rows)})" in text, text)
    same(f"{what}: the losses in the text", [float(x) for x in re.findall(r"^photos\S+ +([\d.]+)", text, re.M)],
         [round(row["loss"], 4) for row in sorted(rows, key=lambda row: -row["loss"])[:3]], 2e-4)


def evaluation_of_classes(pixels):
    run("train", "--data", "photos", *TRAIN, "--epochs", "3", "--lr", "0.01", "--name", "a")
    evaluated = {}
    for name, more in (("plain", []), ("tta", ["--tta", "mirror"])):
        words = ["eval", "runs/a", "-b", "5", "--top-losses", "3", "--metrics", "f1,error_rate", *more]
        text = run(*words, "--save", name, "--predictions", f"{name}.json").out
        said = json.loads(run(*words, "--json", "--confusion", "--predictions", f"{name}.csv").out)
        entries = read_json(f"{name}.json")
        rows = judged(entries)
        evaluated[name] = rows
        check(f"{name}: every image in order", [row["file"] for row in rows] == sorted(path for path in pixels if "/valid/" in path))
        for row, entry, line in zip(rows, entries, table_of(f"{name}.csv"), strict=True):
            check(f"{name}: truth, class and loss of {row['file']}", entry["truth"] == row["file"].split("/")[2] == line["truth"]
                  and entry["predicted"] == row["guess"] == line["predicted"] and line["file"] == row["file"]
                  and close(entry["loss"], row["loss"]) and close(line["loss"], row["loss"]), (entry, line, row))
            check(f"{name}: its probabilities", all(close(line[f"probability {c}"], p) for c, p in zip(CLASSES, row["p"]))
                  and close(sum(row["p"]), 1), (line, row))
        check_evaluation(name, rows, said, name, text)
        worst = sorted(rows, key=lambda row: -row["loss"])[:3]
        check(f"{name}: largest losses as JSON", said["top_losses"] == [next(e for e in entries if e["file"] == row["file"]) for row in worst],
              said["top_losses"])
        check(f"{name}: metrics as JSON", close(said["metrics"]["error_rate"], 1 - said["accuracy"])
              and close(said["metrics"]["f1"], said["mean_of_classes"]["f1"]) and f"error_rate {1 - said['accuracy']:.4f}" in text, said["metrics"])
        check(f"{name}: what was measured", [said[key] for key in ("run", "weights", "model", "data", "synthetic", "part", "samples", "targets",
                                                                   "measures", "tta", "undecided")] ==
              ["runs/a", "runs/a/weights/best.safetensors", "linear", "photos", False, "validation", 22, "classes", "cross-entropy",
               "mirror" if name == "tta" else None, 0], said)
    check("the set is not too easy", 0.4 < sum(r["truth"] == r["guess"] for r in evaluated["plain"]) / 22 < 1, evaluated["plain"])

    # The probabilities of an image and its mirror image, which is a file here, are averaged.
    table_of_mirrors = {row["file"].removeprefix("mirrored/"): row for row in
                        rows_of(run("predict", "runs/a", "mirrored/photos/valid", "--csv", "--top", "0").out)}
    for plain, tta in zip(evaluated["plain"], evaluated["tta"]):
        row = table_of_mirrors[plain["file"]]
        mirror = {row[f"class{k}"]: float(row[f"probability{k}"]) for k in ("", "_2", "_3")}
        check(f"--tta of {plain['file']}", all(close(both, (one + mirror[c]) / 2) for c, one, both in zip(CLASSES, plain["p"], tta["p"])),
              (plain, tta, mirror))
    check("mirror images matter", any(abs(a["p"][0] - b["p"][0]) > 1e-3 for a, b in zip(evaluated["plain"], evaluated["tta"])))
    both = json.loads(run("eval", "runs/a", "--tta", "mirror", "--json").out)
    plain = json.loads(run("eval", "runs/a", "--json").out)
    check("what --tta brings is said", both["without_tta"] == {key: plain[key] for key in ("loss", "accuracy", "right")}
          and "without_tta" not in plain, both["without_tta"])
    check("in words too", f"\nwithout --tta  loss {plain['loss']:.6f}  accuracy {plain['accuracy']:.4f}  ({plain['right']} of 22)\n"
          in run("eval", "runs/a", "--tta", "mirror").out)
    predicted = {row["file"]: row for row in rows_of(run("predict", "runs/a", "photos/valid", "--tta", "mirror", "--csv").out)}
    check("predict --tta says the same", all(predicted[row["file"]]["class"] == row["guess"]
                                             and close(predicted[row["file"]]["probability"], max(row["p"])) for row in evaluated["tta"]))
    other = json.loads(run("eval", "runs/a/weights/last.safetensors", "--data", "photos/train", "--valid-limit", "10", "--json").out)
    check("of a file and other data", (other["run"], other["part"], other["samples"], other["data"]) == (None, "all", 10, "train"), other)
    check("of training images", json.loads(run("eval", "last", "--set", "train", "--json").out)["part"] == "training")


# Labels and values.

def average_precision(scores, truths):
    order = sorted(zip(scores, truths), key=lambda pair: -pair[0])
    total, found, area = sum(truths), 0, 0.0
    for k, (_, there) in enumerate(order, 1):
        found += there
        if there:
            area += found / k
    return area / total


def evaluation_of_labels(pixels):
    lines = ["file,tags,part"]
    for path, rows in pixels.items():
        tags = [name for name, c in (("red", 0), ("green", 1)) if rows[0][0][c] > 85]
        lines.append(f"{path},{';'.join(tags)},{path.split('/')[1]}")
    Path("tags.csv").write_text("\n".join(lines) + "\n")
    run("train", "--data", "tags.csv:label=tags,label_delim=;,split=part", *TRAIN, "--epochs", "3", "--lr", "0.02", "--name", "tags")
    names = ["green", "red"]
    mirrored = {entry["file"].removeprefix("mirrored/"): entry["probabilities"]
                for entry in json.loads(run("predict", "runs/tags", "mirrored/photos/valid", "--json").out)}
    plain = {}
    for what, more in (("labels", []), ("labels with --tta", ["--tta", "mirror"])):
        said = json.loads(run("eval", "runs/tags", "--json", "--threshold", "0.45", "--predictions", "t.json", *more).out)
        entries = read_json("t.json")
        losses = []
        for entry in entries:
            p, place = entry["probabilities"], os.path.normpath(entry["file"])
            if more:
                check(f"{what}: the mean of {entry['file']}", all(close(p[n], (plain[place][n] + mirrored[place][n]) / 2) for n in names), entry)
            plain.setdefault(place, p)
            losses.append(statistics.fmean(-math.log(p[n] if n in entry["truth"] else 1 - p[n]) for n in names))
            check(f"{what}: loss and labels of {entry['file']}", close(entry["loss"], losses[-1])
                  and entry["predicted"] == [n for n in names if p[n] > 0.45], entry)
        labels = []
        for n in names:
            there = [n in e["truth"] for e in entries]
            told = [n in e["predicted"] for e in entries]
            both = sum(a and b for a, b in zip(there, told))
            labels.append({"label": n, "images": sum(there), "predicted": sum(told), "precision": share(both, sum(told)),
                           "recall": share(both, sum(there)), "f1": share(2 * both, sum(there) + sum(told)),
                           "average_precision": average_precision([e["probabilities"][n] for e in entries], there)})
        right = sum((n in e["truth"]) == (n in e["predicted"]) for e in entries for n in names)
        wanted = {"loss": statistics.fmean(losses), "accuracy_multi": right / 44, "right": right, "decisions": 44, "threshold": 0.45,
                  "all_labels_right": sum(e["truth"] == e["predicted"] for e in entries), "labels": labels}
        same(what, {key: said.get(key) for key in wanted}, wanted)
        for key in ("precision", "recall", "f1", "average_precision"):
            check(f"{what}: mean {key}", close(said["mean_of_labels"][key], statistics.fmean(one[key] or 0 for one in labels)), said["mean_of_labels"])
        check(f"{what}: kind", (said["targets"], said["measures"]) == ("labels", "binary cross-entropy"), said)


def evaluation_of_values(pixels):
    lines = ["file,warmth,tiny,part"]
    truths = {}
    for path, rows in pixels.items():
        truths[path] = {"warmth": float(rows[0][0][0]) / 16, "tiny": rows[0][0][2] * 1e-6}
        lines.append(f"{path},{truths[path]['warmth']},{truths[path]['tiny']},{path.split('/')[1]}")
    Path("shades.csv").write_text("\n".join(lines) + "\n")
    run("train", "--data", "shades.csv:targets=(warmth,tiny),split=part", *TRAIN, "--epochs", "3", "--lr", "0.01", "--name", "shades")
    mirrored = {entry["file"].removeprefix("mirrored/"): entry["values"]
                for entry in json.loads(run("predict", "runs/shades", "mirrored/photos/valid", "--json").out)}
    plain = {}
    for what, more in (("values", []), ("values with --tta", ["--tta", "mirror"])):
        said = json.loads(run("eval", "runs/shades", "--json", "--predictions", "s.json", *more).out)
        entries = read_json("s.json")
        losses = []
        for e in entries:
            place = os.path.normpath(e["file"])
            if more:
                check(f"{what}: the mean of {place}", all(close(e["predicted"][n], (plain[place][n] + mirrored[place][n]) / 2) for n in e["truth"]), e)
            plain.setdefault(place, e["predicted"])
            losses.append(statistics.fmean((e["predicted"][n] - e["truth"][n]) ** 2 for n in e["truth"]))
            check(f"{what}: truth and loss of {e['file']}", abs(e["loss"] / losses[-1] - 1) < 1e-5
                  and all(abs(e["truth"][n] / truths[place][n] - 1) < 1e-6 for n in e["truth"]), e)
        values = []
        for n in ("warmth", "tiny"):
            t = [e["truth"][n] for e in entries]
            errors = [e["predicted"][n] - e["truth"][n] for e in entries]
            values.append({"value": n, "mean": statistics.fmean(t), "deviation": statistics.pstdev(t), "mae": statistics.fmean(map(abs, errors)),
                           "rmse": math.sqrt(statistics.fmean(x * x for x in errors)),
                           "r2": 1 - sum(x * x for x in errors) / sum((x - statistics.fmean(t)) ** 2 for x in t)})
        same(what, {key: said.get(key) for key in ("loss", "values")}, {"loss": statistics.fmean(losses), "values": values}, 2e-5)
        for n, one in zip(("warmth", "tiny"), said["values"]):
            check(f"{what}: digits of {n}", abs(one["mean"] / values[("warmth", "tiny").index(n)]["mean"] - 1) < 1e-5, one)
        for key in ("mae", "rmse", "r2"):
            check(f"{what}: mean {key}", close(said[key], statistics.fmean(one[key] for one in values), 2e-5), said)


# The files of a run.

def files_of_a_run():
    rows = table_of("runs/a/results.csv")
    lines = [json.loads(line) for line in Path("runs/a/metrics.jsonl").read_text().splitlines()]
    batches = [line for line in lines if line["kind"] == "batch"]
    epochs = [line for line in lines if line["kind"] == "epoch"]
    check("a line for each batch, in order", [line["batch"] for line in batches] == list(range(1, 19)), batches)
    check("and for each epoch after its batches", [line["kind"] for line in lines] == (["batch"] * 6 + ["epoch"]) * 3, lines)
    smooth = 0.0
    for i, line in enumerate(batches, 1):
        smooth = 0.98 * smooth + 0.02 * line["loss"]
        check(f"batch {i}: place and smoothed loss", close(line["epoch"], i / 6) and close(line["smooth_loss"], smooth / (1 - 0.98 ** i)), line)
        check(f"batch {i}: rate and scale", close(line["lr"], 0.01) and line["loss_scale"] == 1 and line["skipped"] == 0, line)
    for e, (row, line) in enumerate(zip(rows, epochs, strict=True)):
        check(f"epoch {e + 1}: results.csv is metrics.jsonl", int(row["epoch"]) == line["epoch"] == e + 1 and close(row["time"], line["seconds"])
              and all(close(row[key], line[key]) for key in ("train_loss", "valid_loss", "accuracy", "lr", "skipped", "loss_scale", "samples_per_second")),
              (row, line))
        own = batches[6 * e:6 * e + 6]
        mean = sum(b["loss"] * n for b, n in zip(own, [8] * 5 + [5])) / 45
        check(f"epoch {e + 1}: the training's loss is the mean of its images", close(row["train_loss"], mean), (row, mean))
    record = read_json("runs/a/run.json")
    check("run.json has the last epoch", all(close(record["results"][key], rows[-1][key]) for key in ("train_loss", "valid_loss", "accuracy"))
          and close(record["results"]["seconds"], rows[-1]["time"]), record["results"])
    best = max(range(3), key=lambda e: float(rows[e]["accuracy"]))
    check("and the first of the best", record["best"]["epoch"] == best + 1 and close(record["best"]["value"], rows[best]["accuracy"])
          and record["best"]["metric"] == "accuracy", record["best"])
    check("counts and images", record["steps"]["applied"] == 18 and record["epochs"] == record["epochs_done"] == 3
          and (record["dataset"]["train_samples"], record["dataset"]["valid_samples"]) == (45, 22)
          and record["model"]["parameters"] == 3 * (8 * 6 * 3 + 1), record)

    disk = sum(path.lstat().st_blocks * 512 for path in Path("runs/a").rglob("*"))
    entry = next(one for one in json.loads(run("runs", "--json").out) if one["name"] == "a")
    line = next(one for one in rows_of(run("runs", "--csv").out) if one["name"] == "a")
    check("runs --json has the record", entry["record"] == record and (entry["path"], entry["status"]) == ("runs/a", "finished"), entry)
    check("and time and size", close(entry["time"], sum(float(row["time"]) for row in rows)) and abs(entry["size"] - disk) <= 65536, (entry, disk, rows))
    check("runs --csv says the same", (line["path"], line["status"], line["model"], line["data"], line["precision"], line["epochs_done"], line["epochs"],
                                      line["best_metric"], line["best_epoch"], line["started"], line["ended"], line["size"], line["error"]) ==
          ("runs/a", "finished", "linear", "photos", "fp32", "3", "3", "accuracy", str(best + 1), record["started"], record["ended"],
           str(entry["size"]), "") and close(line["best_value"], record["best"]["value"]) and close(line["time"], entry["time"])
          and all(close(line[key], record["results"][key]) for key in record["results"]), line)
    one = json.loads(run("runs", "a", "--json").out)[0]
    check("of a run that is named, with its settings", one["record"] == record and one["settings"]["batch-size"] == "8"
          and one["settings"]["epochs"] == "3" and one["settings"]["schedule"] == "const", one.get("settings"))

    page = Path("runs/a/report.html").read_text()
    charts = {caption: json.loads(data) for caption, data in re.findall(
        r"<figcaption>([^<]*)</figcaption>\n<div class=\"legend\"></div>\n<div class=\"plot\"></div>\n<script type=\"application/json\">(.*?)</script>", page)}

    def series(chart, name):
        return next(([x, y] for s in charts[chart]["series"] if s["name"] == name for x, y in [(s["x"], s["y"])]), None)

    same("the page's losses", series("Loss", "training, each batch"), [[b["epoch"] for b in batches], [b["loss"] for b in batches]])
    same("its validation", series("Loss", "validation"), [[1.0, 2.0, 3.0], [float(row["valid_loss"]) for row in rows]])
    same("its accuracy", series("Metrics", "accuracy"), [[1.0, 2.0, 3.0], [float(row["accuracy"]) for row in rows]])
    same("its rates", series("Learning rate", "learning rate"), [[b["epoch"] for b in batches], [b["lr"] for b in batches]])
    same("its momenta", series("Momentum", "momentum or beta1"), [[b["epoch"] for b in batches], [b["momentum"] for b in batches]])
    bins = [b for b in calibration(judged(read_json("plain.json"))) if b["images"]]
    same("its calibration", series("Calibration", "share that is correct"), [[b["confidence"] for b in bins], [b["correct"] for b in bins]])
    rows = judged(read_json("plain.json"))
    matrix = [[int(n or 0) for n in re.findall(r"<td class=\"(?:right|wrong)[^>]*>(\d*)</td>", row)]
              for row in re.findall(r"<tr><th scope=\"row\" title=.*?</tr>", page)]
    check("its matrix", matrix == expected_of_classes(rows)["confusion"], matrix)
    worst = [row["file"] for row in sorted(rows, key=lambda row: -row["loss"])[:16]]
    names = [html.unescape(name) for name in re.findall(r'class="source" title="([^"]*)"', page)]
    check("its largest losses, by the names of their files", names == worst, (names, worst))
    losses = re.findall(r"<span class=\"soft\">loss ([\d.e-]+)</span>", page)
    check("with their losses", losses == [f"{row['loss']:.3g}" for row in sorted(rows, key=lambda row: -row["loss"])[:16]], losses)


def names_of_losses():
    """For files in an archive and in a table, as for the folder above."""
    shutil.make_archive("packed", "zip", ".", "photos")
    for data, first in (("packed.zip", "packed.zip/photos/valid/"), ("tags.csv:label=tags,label_delim=;,split=part", "photos/valid/")):
        name = data[:4]
        run("train", "--data", data, *TRAIN, "--epochs", "1", "--name", name)
        listed = re.findall(r"^(\S+\.png) +[\d.]", run("eval", f"runs/{name}", "--top-losses", "16").out, re.M)
        shown = re.findall(r'class="source" title="([^"]*)"', Path(f"runs/{name}/report.html").read_text())
        check(f"{data}: names of the largest losses", len(shown) == 16 and shown == listed and all("/valid/" in one for one in shown), (shown, listed, first))


images = make_images()
evaluation_of_classes(images)
files_of_a_run()
evaluation_of_labels(images)
evaluation_of_values(images)
names_of_losses()
trial.conclude()
