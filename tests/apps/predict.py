#!/usr/bin/env python3
"""What `learn predict` says of images: predict.py PATH/TO/learn.

One of each kind, good and bad, through each way in and out. Prints what failed; exit status 1 then.
"""
import csv
import io
import json
import os
import re
import struct
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from png import write_png

LEARN = str(Path(sys.argv[1]).resolve())
COLOURS = {"blue": (20, 40, 220), "red": (220, 30, 20)}
failures = []


def check(what, ok, seen=""):
    if not ok:
        failures.append(what)
        print(f"FAILED: {what}\n  {seen}")


def learn(*words, status=0, stdin=b""):
    done = subprocess.run([LEARN, *words], input=stdin, capture_output=True, timeout=120)
    done.stdout, done.stderr = (os.fsdecode(text) for text in (done.stdout, done.stderr))
    check(f"learn {' '.join(map(os.fsdecode, words))} is status {status}", done.returncode == status, done)
    return done


def rows(done):
    return list(csv.DictReader(io.StringIO(done.stdout)))


def train():
    for name, colour in COLOURS.items():
        for i in range(30):
            write_png(Path("plain", name, f"{i}.png"), 8, 8, colour)
    learn("train", "--data", "plain", "--model", "small:width=4", "--epochs", "6", "-b", "8", "--no-plots", "--threads", "1")


def damaged_collections():
    """A bad entry of a folder or an archive costs only itself."""
    write_png(Path("some", "sky.png"), 9, 9, COLOURS["blue"])
    write_png(Path("some", "rose.png"), 9, 9, COLOURS["red"])
    os.symlink("self.png", "some/self.png")
    done = learn("predict", "last", "some", "--csv", "--top", "1", status=3)
    check("a folder with a link to itself", [(r["file"], r["class"], r["error"]) for r in rows(done)] ==
          [("some/rose.png", "red", ""), ("some/self.png", "", "Too many levels of symbolic links"),
           ("some/sky.png", "blue", "")], done)

    with zipfile.ZipFile("some.zip", "w", zipfile.ZIP_STORED) as archive:
        for name in ("sky.png", "rose.png", "last.png"):
            archive.writestr(f"some/{name}", Path("some", name if name != "last.png" else "sky.png").read_bytes())
        archive.writestr("../out.png", b"outside")
    packed = bytearray(Path("some.zip").read_bytes())
    packed[packed.index(Path("some", "rose.png").read_bytes()) + 50] ^= 1
    Path("some.zip").write_bytes(packed)
    done = learn("predict", "last", "some.zip", "--csv", "--top", "1", status=3)
    seen = {r["file"]: (r["class"], r["error"]) for r in rows(done)}
    check("whole members of a damaged zip", [seen.get(f"some.zip/{n}", ("",))[0] for n in ("sky.png", "last.png")]
          == ["blue", "blue"], done)
    check("and the reason of each that is not", len(seen) == 4 and sum("CRC" in e for _, e in seen.values()) == 1
          and sum("leads out of it" in e for _, e in seen.values()) == 1, done)

    with tarfile.open("some.tar", "w") as archive:
        for name in ("rose.png", "sky.png"):
            archive.add(f"some/{name}")
    whole = Path("some.tar").read_bytes()
    Path("cut.tar").write_bytes(whole[:whole.index(b"some/sky.png") + 540])
    done = learn("predict", "last", "cut.tar", "--csv", "--top", "1", status=3)
    table = rows(done)
    check("an archive that was cut: what is whole, and a reason", table[0]["class"] == "red"
          and any("runcated" in r["error"] for r in table[1:]), done)
    piped = learn("predict", "last", "-", "--csv", "--top", "1", status=3, stdin=Path("cut.tar").read_bytes())
    check("through standard input, too", rows(piped)[0]["class"] == "red", piped)


def formats():
    write_png(Path("mine", "sky.png"), 31, 17, COLOURS["blue"])
    write_png(Path("mine", "far", "rose.png"), 5, 90, COLOURS["red"])
    done = learn("predict", "runs/train", "mine/sky.png", "mine/far/rose.png")
    lines = [line.split() for line in done.stdout.splitlines()]
    check("a table, in the order of the arguments",
          [line[:2] for line in lines[1:]] == [["mine/sky.png", "blue"], ["mine/far/rose.png", "red"]], done)
    check("with both classes, the more probable first", lines[1][3] == "red" and float(lines[1][2]) > float(lines[1][4]), done)

    table = rows(learn("predict", "last", "mine", "--csv", "--top", "1"))
    check("a folder, by path, as CSV", [(r["file"], r["class"]) for r in table] ==
          [("mine/far/rose.png", "red"), ("mine/sky.png", "blue")], table)
    check("no more columns than asked for", list(table[0]) == ["file", "class", "probability", "error"], table)

    shown = json.loads(learn("predict", "runs/train/weights/best.safetensors", "mine", "--json", "--top", "0").stdout)
    check("JSON with all classes", [len(p["top"]) for p in shown] == [2, 2], shown)
    check("whose probabilities are one together", all(abs(sum(t["probability"] for t in p["top"]) - 1) < 1e-5 for p in shown), shown)
    check("and those of the table", abs(shown[0]["probability"] - float(table[0]["probability"])) < 1e-5, (shown, table))

    with tarfile.open("mine.tar.gz", "w:gz") as archive:
        archive.add("mine/sky.png")
        archive.add("mine/far/rose.png")
    check("an archive", [r["class"] for r in rows(learn("predict", "last", "mine.tar.gz", "--csv"))] == ["red", "blue"])
    piped = rows(learn("predict", "last", "-", "--csv", stdin=Path("mine/sky.png").read_bytes()))
    check("an image through a pipe", [(r["file"], r["class"]) for r in piped] == [("standard input", "blue")], piped)
    piped = rows(learn("predict", "last", "-", "--csv", stdin=Path("mine.tar.gz").read_bytes()))
    check("an archive through a pipe", [r["file"] for r in piped] == ["far/rose.png", "sky.png"], piped)

    write_png(Path("train", "a.png"), 8, 8, COLOURS["red"])  # a folder that is called like a command
    check("a folder called like a command", [r["class"] for r in rows(learn("predict", "last", "train", "--csv"))] == ["red"])
    write_png(Path(os.fsdecode(b"mine/\xff=.png")), 8, 8, COLOURS["red"])
    shown = json.loads(learn("predict", "last", os.fsdecode(b"mine/\xff=.png"), "--json").stdout)
    check("a name of any bytes", shown[0]["class"] == "red", shown)

    def probability(*words):
        return float(rows(learn("predict", "last", "mine/sky.png", "--csv", *words))[0]["probability"])
    # Its colours change from top to bottom only: it is its own mirror image.
    check("a mirrored image", abs(probability("--tta") - probability()) < 1e-5)


def errors():
    Path("notes.txt").write_text("no image")
    Path("half.png").write_bytes(Path("mine/sky.png").read_bytes()[:60])
    Path("hollow").mkdir()
    done = learn("predict", "last", "--csv", "nowhere.jpg", "mine/sky.png", "notes.txt", "half.png", "hollow", "mine/far/rose.png", status=3)
    table = rows(done)
    check("the others are predicted", [r["class"] for r in table] == ["", "blue", "", "", "", "red"], table)
    check("each of the bad has its reason", [bool(r["error"]) for r in table] == [True, False, True, True, True, False], table)
    for name, why in (("nowhere.jpg", "there is no such file"), ("notes.txt", "neither a JPEG nor a PNG"),
                      ("half.png", "damaged PNG"), ("hollow", "no .jpg, .jpeg or .png file")):
        check(f"{name}: {why}", re.search(f"warning .*'{name}': .*{why}", done.stderr), done.stderr)
    check("and there is a sum", "error: 4 of 6 images have no prediction" in done.stderr, done.stderr)
    shown = json.loads(learn("predict", "last", "--json", "notes.txt", "mine/sky.png", status=3).stdout)
    check("JSON has the reasons too", "error" in shown[0] and "class" in shown[1], shown)
    check("JSON of none is an empty list of predictions",
          [set(p) for p in json.loads(learn("predict", "last", "--json", "hollow", status=3).stdout)] == [{"file", "error"}])
    check("no table of none", learn("predict", "last", "hollow", status=3).stdout == "")
    check("nothing through the pipe", "'standard input': the file is empty" in learn("predict", "last", "-", status=3).stderr)

    learn("predict", "last", status=2)
    learn("predict", "last", "-", "-", status=2)
    learn("predict", "last", "--csv", "--json", "mine", status=2)
    learn("predict", "runs/train", "--out", "runs", "mine", status=2)
    learn("predict", "last", "--top", "-1", "mine", status=2)
    learn("predict", "notes.txt", "mine", status=4)
    learn("predict", "nowhere", "mine", status=4)

    # A file that says that it is of a larger model than it holds.
    weights = Path("runs/train/weights/best.safetensors").read_bytes()
    size = struct.unpack("<Q", weights[:8])[0]
    header = json.loads(weights[8:8 + size])
    said = header["__metadata__"]
    said["learn.model"] = "small:width=60000"  # terabytes, which must not be tried
    said = {key: value for key, value in said.items() if key not in ("learn.sha256", "learn.format")}
    text = json.dumps(header | {"__metadata__": said}).encode()
    text += b" " * (-len(text) % 8)
    Path("liar.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + weights[8 + size:])
    done = learn("predict", "liar.safetensors", "mine", status=4)
    check("hostile weights", "'small:width=60000', which has" in done.stderr, done)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    train()
    formats()
    damaged_collections()
    errors()
    os.chdir("/")
sys.exit(1 if failures else 0)
