#!/usr/bin/env python3
"""data_contents.py PATH/TO/learn: what `learn data` and the sweeps write is what an independent computation makes of their inputs.

Images, files and updates are counted and measured again here.
"""
import json
import os
import re
import shutil
import statistics
from pathlib import Path

from png import write_pixels
from harness import table_of
from recomputed import CLASSES, COUNTS, TRAIN, check, close, make_images, run, same, trial


def summary_of_data(pixels):
    info = json.loads(run("data", "info", "photos", "--json").out)
    train = [channel for path, rows in pixels.items() if "/train/" in path for row in rows for channel in row]
    means = [statistics.fmean(p[c] for p in train) / 255 for c in range(3)]
    spreads = [statistics.pstdev([p[c] for p in train]) / 255 for c in range(3)]
    same("data info", {key: info[key] for key in ("name", "synthetic", "place", "bytes", "formats", "height", "width", "channels", "mean", "std",
                                                  "targets", "names", "skipped")},
         {"name": "photos", "synthetic": False, "place": "photos", "bytes": sum(os.path.getsize(path) for path in pixels), "formats": {"PNG": 67},
          "height": 6, "width": 8, "channels": 3, "mean": means, "std": spreads, "targets": "classes", "names": list(CLASSES), "skipped": []}, 1e-5)
    check("its parts", [(info[part]["images"], info[part]["counts"]) for part in COUNTS] == [(sum(n), list(n)) for n in COUNTS.values()], info)
    text = run("data", "info", "photos").out
    check("in words", "photos: 45 + 22 images, 8x6, colour" in text and f"mean         {' '.join(f'{m:.3f}' for m in means)}" in text
          and all(re.search(rf"^{name} +{a} +{b}$", text, re.M) for name, a, b in zip(CLASSES, *COUNTS.values())), text)
    check("with both fingerprints", f"fingerprint  {info['train']['fingerprint']} (train)\n{'':13}{info['valid']['fingerprint']} (valid)\n" in text
          and info["train"]["fingerprint"] != info["valid"]["fingerprint"], text)
    run("data", "make", "photos", "made")
    made = json.loads(run("data", "info", "made", "--json").out)
    check("what is made has the same pixels", [made[part]["fingerprint"] for part in COUNTS] == [info[part]["fingerprint"] for part in COUNTS], made)
    lines = table_of("made/labels.csv")
    check("and its table says where each image is", len(lines) == 67 and all(Path("made", row["file"]).is_file()
          and row["file"].split("/")[:2] == [row["split"], row["label"]] for row in lines), lines[:3])
    again = json.loads(run("data", "info", "made/labels.csv", "--json").out)
    check("by which it is the same set", again["train"]["fingerprint"] == info["train"]["fingerprint"], again)


def findings():
    """Every kind of finding, alone and together: as JSON, in words and as exit status."""
    def red(path, shade, width=8):
        write_pixels(Path(path), [[(shade, 10, 10)] * width] * 6)

    def fresh():
        shutil.rmtree("odd", ignore_errors=True)
        for part in COUNTS:
            for c, name in enumerate(("ant", "bee")):
                for i in range(3):
                    red(f"odd/{part}/{name}/{i}.png", 20 + 10 * c + i + (100 if part == "valid" else 0))

    def verify(what, wanted, status):
        said = json.loads(run("data", "verify", "odd", "--json", status=status).out)
        empty = {"damaged": [], "in_both": [], "disagreeing": [], "repeated": [], "empty": []}
        seen = {key: [(one["what"], one["why"]) for one in said[key]] for key in empty}
        check(f"{what}: JSON of data verify", seen == {**empty, **wanted} and said["wrong"] == (status == 3) and said["name"] == "odd", said)
        text = run("data", "verify", "odd", status=status).out
        check(f"{what}: its text", ("\nfaults were found" if status == 3 else "\nno faults were found") in text
              and all(f"  {a}: {b}\n" in text for each in wanted.values() for a, b in each), text)
        return said, text

    fresh()
    said, text = verify("a sound set", {}, 0)
    check("sizes of a sound set", said["sizes"] == {"8x6": 12} and said["images"] == 12 and text.startswith("odd: 12 images, 12 of 8x6\n"), (said, text))
    shutil.copy("odd/train/ant/0.png", "odd/train/ant/9.png")
    verify("an image twice in the training part", {"repeated": [("odd/train/ant/9.png", "is odd/train/ant/0.png")]}, 0)
    fresh()
    shutil.copy("odd/valid/ant/0.png", "odd/valid/ant/9.png")
    verify("an image twice in the validation part", {"repeated": [("odd/valid/ant/9.png", "is odd/valid/ant/0.png")]}, 0)
    fresh()
    shutil.copy("odd/train/ant/1.png", "odd/valid/ant/9.png")
    verify("an image in both parts", {"in_both": [("odd/valid/ant/9.png", "is odd/train/ant/1.png")]}, 3)
    for one, other in (("train/ant/1", "train/bee/9"), ("valid/ant/1", "valid/bee/9")):
        fresh()
        shutil.copy(f"odd/{one}.png", f"odd/{other}.png")
        verify(f"labels that disagree within a part, {one}", {
            "repeated": [(f"odd/{other}.png", f"is odd/{one}.png")],
            "disagreeing": [(f"odd/{other}.png", f"is 'bee', odd/{one}.png, which is equal, is 'ant'")]}, 3)
    fresh()
    shutil.copy("odd/train/ant/1.png", "odd/valid/bee/9.png")
    verify("labels that disagree across parts", {
        "in_both": [("odd/valid/bee/9.png", "is odd/train/ant/1.png")],
        "disagreeing": [("odd/valid/bee/9.png", "is 'bee', odd/train/ant/1.png, which is equal, is 'ant'")]}, 3)
    for part in COUNTS:
        fresh()
        Path(f"odd/{part}/bee/bad.jpg").write_bytes(b"\xff\xd8\xff no image")
        said = json.loads(run("data", "verify", "odd", "--json", status=3).out)
        check(f"damage in {part}", [one["what"] for one in said["damaged"]] == [f"odd/{part}/bee/bad.jpg"] and said["wrong"]
              and not any(said[key] for key in ("in_both", "disagreeing", "repeated", "empty")), said)
    fresh()
    for i in range(5):
        red(f"odd/train/ant/narrow{i}.png", 60 + i, 4)
    for i in range(2):
        red(f"odd/train/ant/wide{i}.png", 80 + i, 30)
    said, text = verify("images of several sizes", {}, 0)
    check("all sizes are counted", said["sizes"] == {"4x6": 5, "30x6": 2, "8x6": 12}, said)
    check("the most frequent size first", text.startswith("odd: 19 images, 12 of 8x6, 5 of 4x6, 2 of 30x6\n"), text)
    Path("few.csv").write_text("file,label,split\n" + "".join(
        f"odd/{part}/{name}/{i}.png,{name},{part}\n" for part in COUNTS for name in ("ant", "bee") for i in range(3)
        if (part, name) != ("valid", "bee")))
    said = json.loads(run("data", "verify", "few.csv", "--json").out)
    check("a class without validation images", [(one["what"], one["why"]) for one in said["empty"]] == [("bee", "has no validation images")]
          and not said["wrong"], said)

    Path("odd/train/ant/bad.jpg").write_bytes(b"\xff\xd8\xff no image")
    Path("odd/train/bee/cut.png").write_bytes(Path("odd/train/bee/0.png").read_bytes()[:60])
    run("train", "--data", "odd:skip_bad=true,size=8", *TRAIN, "--epochs", "1", "--name", "skips")
    skipped = table_of("runs/skips/skipped.csv")
    check("skipped.csv names the files with reasons", [row["file"] for row in skipped] == ["odd/train/ant/bad.jpg", "odd/train/bee/cut.png"]
          and "JPEG" in skipped[0]["why"] and "PNG" in skipped[1]["why"], skipped)
    info = json.loads(run("data", "info", "odd:skip_bad=true,size=8", "--json").out)
    check("data info lists the same", info["skipped"] == skipped, info["skipped"])


# Curves of single steps.

def sweeps():
    done = run("lr-find", "--data", "photos", "--model", "linear", "-b", "8", "--threads", "1", "--workers", "0", "--start", "1e-4", "--end", "1",
               "--iterations", "24", "--no-stop", "--csv", "sweep.csv")
    rows = table_of("sweep.csv")
    check("a line for each update", [int(row["update"]) for row in rows] == list(range(1, 25)), rows)
    smooth = 0.0
    for i, row in enumerate(rows):
        smooth = 0.98 * smooth + 0.02 * float(row["loss"])
        check(f"rate and smoothed loss of update {i + 1}", close(row["lr"], 1e-4 * 1e4 ** (i / 24), 1e-6)
              and close(row["smoothed"], smooth / (1 - 0.98 ** (i + 1))), row)
    shown = re.findall(r"^ *(\d+) +(\S+e\S+) +([\d.]+) +([\d.]+)$", done.out, re.M)
    check("the table is the file's", len(shown) == 13 and all(
        (lr, loss, smoothed) == (f"{float(rows[int(k) - 1]['lr']):.2e}", f"{float(rows[int(k) - 1]['loss']):.4f}",
                                 f"{float(rows[int(k) - 1]['smoothed']):.4f}") for k, lr, loss, smoothed in shown), (shown, rows))
    wild = run("lr-find", "--data", "photos", "--model", "linear", "-b", "8", "--threads", "1", "--workers", "0", "--start", "1e37", "--end", "1e38",
               "--iterations", "24", "--optimizer", "sgd", "--no-stop")
    check("NaN has no sign", "nan" in wild.out and "-nan" not in wild.out, wild)

    done = run("batch-size-find", "--data", "photos", "--model", "linear", "--threads", "1", "--workers", "0", "--smallest", "4", "--largest", "16",
               "--steps", "3")
    sizes = re.findall(r"^ *(\d+) +([\d.]+) +(\d+) +", done.out, re.M)
    check("sizes are doubled", [size for size, _, _ in sizes] == ["4", "8", "16"], done)
    # Milliseconds are shown with two digits after the decimal point.
    check("and the speed is images by time", all(int(size) / (float(ms) + 0.006) * 1e3 - 1 <= int(speed) <= int(size) / max(float(ms) - 0.006, 1e-9) * 1e3 + 1
                                                 for size, ms, speed in sizes), sizes)

    run("train", "--data", "photos", *TRAIN[:-1], "one-cycle", "--epochs", "3", "--lr", "0.01", "--name", "cycle", "--no-report")
    batches = {line["batch"]: line for line in map(json.loads, Path("runs/cycle/metrics.jsonl").read_text().splitlines()) if line["kind"] == "batch"}
    shown = run("show-schedule", "--data", "photos", *TRAIN[:2], "-b", "8", "--epochs", "3", "--lr", "0.01", "--schedule", "one-cycle").out
    rows = re.findall(r"^ *([\d.]+) +(\d+) +([\d.e-]+) +([\d.e-]+) +", shown, re.M)
    check("show-schedule shows what the training had", len(rows) > 5 and all(
        epoch == f"{(int(batch) - 1) / 6:.2f}" and lr == f"{batches[int(batch)]['lr']:.4g}" and momentum == f"{batches[int(batch)]['momentum']:.4g}"
        for epoch, batch, lr, momentum in rows), (shown, batches))


images = make_images()
summary_of_data(images)
findings()
sweeps()
trial.conclude()
