"""Common code of contents.py and data_contents.py: a set of images, and values computed from it and from a model's probabilities.

Images are two halves of noisy colours, so that a linear model is often wrong and a mirror image is a different image.
"""
import json
import math
import random
import statistics
from collections import Counter
from pathlib import Path

from harness import Trial
from png import write_pixels

trial = Trial("What each command writes is what an independent computation makes of its inputs.")
run = trial.expect
draw = random.Random(7)
CLASSES = {"ash": (120, 60, 60), "birch": (90, 90, 60), "cedar": (90, 60, 90)}
COUNTS = {"train": (16, 15, 14), "valid": (9, 7, 6)}
TRAIN = ["--model", "linear", "-b", "8", "--threads", "1", "--workers", "0", "--augment", "none", "--no-plots", "--schedule", "const"]


def check(what, ok, seen=""):
    trial.check(ok, what, str(seen)[-1500:])


def read_json(path):
    return json.loads(Path(path).read_text(encoding="utf-8"))


def close(a, b, allowed=1e-5):
    """Whether two numbers agree except for rounding: six digits in a table."""
    return a is not None and b is not None and abs(float(a) - float(b)) <= allowed * max(1, abs(float(b)))


def same(what, seen, wanted, allowed=1e-5):
    """Compares numbers, names, lists and objects of them."""
    if isinstance(wanted, dict):
        check(f"{what}: its names", isinstance(seen, dict) and list(seen) == list(wanted), (seen, wanted))
        for key in wanted:
            same(f"{what}, {key}", seen.get(key) if isinstance(seen, dict) else None, wanted[key], allowed)
    elif isinstance(wanted, list):
        check(f"{what}: how many", isinstance(seen, list) and len(seen) == len(wanted), (seen, wanted))
        for i, (one, other) in enumerate(zip(seen or [], wanted)):
            same(f"{what} {i}", one, other, allowed)
    elif isinstance(wanted, float):
        check(what, close(seen, wanted, allowed), (seen, wanted))
    else:
        check(what, seen == wanted, (seen, wanted))


def make_images():
    """Pixels of each file, by rows."""
    pixels = {}
    for part, counts in COUNTS.items():
        for (name, colour), count in zip(CLASSES.items(), counts):
            for i in range(count):
                halves = [tuple(max(0, min(255, c + draw.randint(-60, 60))) for c in colour) for _ in range(2)]
                rows = [[halves[x // 4] for x in range(8)] for _ in range(6)]
                path = f"photos/{part}/{name}/{i:02}.png"
                write_pixels(Path(path), rows)
                write_pixels(Path("mirrored", path), [row[::-1] for row in rows])
                pixels[path] = rows
    return pixels


def mean_loss(rows):
    return statistics.fmean(row["loss"] for row in rows)


def share(part, whole):
    return part / whole if whole else None


def judged(entries):
    """Returns the JSON of predictions with the class and loss computed from the probabilities."""
    rows = []
    for entry in entries:
        p = list(entry["probabilities"].values())
        rows.append({"file": entry["file"], "truth": entry["truth"], "p": p, "guess": list(CLASSES)[p.index(max(p))],
                     "loss": -math.log(p[list(CLASSES).index(entry["truth"])])})
    return rows


def class_scores(rows, name):
    having = [row for row in rows if row["truth"] == name]
    said = [row for row in rows if row["guess"] == name]
    both = sum(row["guess"] == name for row in having)
    taken = Counter(row["guess"] for row in having if row["guess"] != name)
    most = max(taken.values(), default=0)
    return {"class": name, "images": len(having), "predicted": len(said), "precision": share(both, len(said)),
            "recall": share(both, len(having)), "f1": share(2 * both, len(having) + len(said)),
            "taken_for": next((other for other in CLASSES if taken[other] == most), None) if most else None}


def mean_scores(scores, weights):
    return {key: sum((one[key] or 0.0) * w for one, w in zip(scores, weights)) / sum(weights) for key in ("precision", "recall", "f1")}


def calibration(rows, bins=15):
    out = []
    for k in range(bins):
        inside = [row for row in rows if k / bins < max(row["p"]) <= (k + 1) / bins]
        out.append({"above": k / bins, "up_to": (k + 1) / bins, "images": len(inside),
                    "confidence": statistics.fmean(max(row["p"]) for row in inside) if inside else "",
                    "correct": statistics.fmean(float(row["guess"] == row["truth"]) for row in inside) if inside else ""})
    return out


def expected_of_classes(rows):
    """Expected output of `--json` for classes."""
    scores = [class_scores(rows, name) for name in CLASSES]
    bins = calibration(rows)
    gaps = [(b["images"], abs(b["correct"] - b["confidence"])) for b in bins if b["images"]]
    confused = Counter((row["truth"], row["guess"]) for row in rows if row["truth"] != row["guess"])
    order = {name: i for i, name in enumerate(CLASSES)}
    pairs = sorted(confused.items(), key=lambda item: (-item[1], order[item[0][0]], order[item[0][1]]))
    right = sum(row["truth"] == row["guess"] for row in rows)
    brier = statistics.fmean(sum((p - (name == row["truth"])) ** 2 for name, p in zip(CLASSES, row["p"])) for row in rows)
    return {"loss": mean_loss(rows), "accuracy": right / len(rows), "right": right,
            "calibration": {"ece": sum(n * gap for n, gap in gaps) / len(rows), "largest_gap": max(gap for _, gap in gaps), "brier": brier},
            "classes": scores, "mean_of_classes": mean_scores(scores, [1] * 3),
            "mean_of_images": mean_scores(scores, [one["images"] for one in scores]),
            "most_confused": [{"class": a, "taken_for": b, "images": n} for (a, b), n in pairs][:5],
            "confusion": [[sum(row["truth"] == a and row["guess"] == b for row in rows) for b in CLASSES] for a in CLASSES]}
