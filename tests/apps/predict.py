#!/usr/bin/env python3
"""Tests `learn predict`: predict.py PATH/TO/learn.

Images of each kind, good and bad, through each kind of input and output. Prints failures; exit status 1 then.
"""
import csv
import io
import json
import os
import random
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
    check("which can be told from others", shown[0]["file"] == r"mine/\xff=.png", shown)
    turned = "mine/a\u202eb\x7f.png"  # marks that turn the direction of writing, and control characters
    write_png(Path(turned), 8, 8, COLOURS["red"])
    shown = json.loads(learn("predict", "last", turned, "--json").stdout)
    check("JSON is JSON, whatever a name holds", shown[0]["file"] == turned, shown)
    Path(turned).unlink()

    def probability(*words):
        return float(rows(learn("predict", "last", "mine/sky.png", "--csv", *words))[0]["probability"])
    # Its colours change from top to bottom only: it is its own mirror image.
    check("a mirrored image", abs(probability("--tta", "mirror") - probability()) < 1e-5)


def errors():
    Path("notes.txt").write_text("no image")
    Path("half.png").write_bytes(Path("mine/sky.png").read_bytes()[:60])
    Path("hollow").mkdir()
    done = learn("predict", "last", "--csv", "nowhere.jpg", "mine/sky.png", "notes.txt", "half.png", "hollow", "mine/far/rose.png", status=3)
    table = rows(done)
    check("the others are predicted", [r["class"] for r in table] == ["", "blue", "", "", "", "red"], table)
    check("each of the bad has its reason", [bool(r["error"]) for r in table] == [True, False, True, True, True, False], table)
    for name, why in (("nowhere.jpg", "no such file"), ("notes.txt", "it is text, neither JPEG, PNG, WebP, TIFF, BMP, GIF or PNM nor"),
                      ("half.png", "damaged PNG"), ("hollow", "no .jpg, .jpeg, ")):
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


def long_way(top):
    """A folder below `top` whose path is too long to be opened."""
    home = os.getcwd()
    os.chdir(top)
    for _ in range(20):
        os.mkdir("d" * 250)
        os.chdir("d" * 250)
    os.chdir(home)


def predicted(*words, **how):
    """Returns the class or the error of each name from the output of a call with exit code 3."""
    done = learn("predict", "last", "--csv", *words, status=3, **how)
    return {r["file"]: r["class"] or r["error"] for r in rows(done)}, done


def bad_entries_of_folders():
    sky = Path("mine/sky.png").read_bytes()
    Path("odd/deep").mkdir(parents=True)
    for name in ("good.png", "deep/good.png", "z.png"):
        Path("odd", name).write_bytes(sky)
    os.symlink("round.png", "odd/round.png")
    os.symlink("nowhere.png", "odd/gone.png")
    os.symlink("nowhere.txt", "odd/gone.txt")  # no image by its name
    Path("elsewhere").mkdir()
    Path("elsewhere/linked.png").write_bytes(sky)
    os.symlink("../elsewhere", "odd/folder.png")
    os.symlink("..", "odd/deep/up")
    os.mkfifo("odd/fifo.png")
    long_way("odd/deep")
    found, done = predicted("odd")
    for name in ("good.png", "deep/good.png", "folder.png/linked.png", "z.png"):
        check(f"{name} beside bad entries", found.get("odd/" + name) == "blue", found)
    for name, why in (("round.png", "Too many levels of symbolic links"), ("gone.png", "No such file"), ("fifo.png", "not a regular file")):
        check(f"{name} is an error of its own", why in found.get("odd/" + name, ""), found)
        check(f"{name} is named once", f"'odd/{name}': " in done.stderr and done.stderr.count(name) == 1, done.stderr)
    lost = [why for name, why in found.items() if name.startswith("odd/deep/ddd")]
    check("a folder that cannot be opened", len(lost) == 1 and "File name too long" in lost[0], found)
    check("and nothing else", len(found) == 8 and "error: 4 of 8 images have no prediction" in done.stderr, done.stderr)
    check("what is passed over is counted",
          "'odd': skipped 2 files: 1 broken link, 1 link to a parent folder; 'odd/" in done.stderr, done.stderr)
    found, _ = predicted("odd/fifo.png", "odd/gone.png", "odd/round.png")
    check("the same by name", all(found.values()) and len(found) == 3, found)
    if os.geteuid() != 0:
        Path("shut/in").mkdir(parents=True)
        Path("shut/good.png").write_bytes(sky)
        Path("shut/in").chmod(0)
        check("a folder that is shut", predicted("shut")[0] == {"shut/good.png": "blue", "shut/in": "the folder cannot be read: Permission denied"})


def tar_of(name, members):
    with tarfile.open(name, "w:gz" if name.endswith("gz") else "w") as archive:
        for member, content in members.items():
            info = tarfile.TarInfo(member)
            if isinstance(content, str):
                info.type, info.linkname = tarfile.SYMTYPE, content
            else:
                info.size = len(content)
            archive.addfile(info, None if isinstance(content, str) else io.BytesIO(content))


def bad_members_of_archives():
    sky = Path("mine/sky.png").read_bytes()
    noise = random.Random(1).randbytes(300_000)
    three = {"top/a.png": sky, "top/b.png": sky + noise, "top/c.png": sky}
    for name in ("cut.tar", "cut.tar.gz"):
        tar_of(name, three)
        Path(name).write_bytes(Path(name).read_bytes()[:200_000])
        found, done = predicted(name)
        check(f"{name}: what came before", found.get(f"{name}/a.png") == "blue", found)
        check(f"{name}: where it ends", "the rest" in found.get(f"{name}/b.png", ""), found)
        check(f"{name}: and no more", len(found) == 2, done)
    found, done = predicted("-", stdin=Path("cut.tar.gz").read_bytes())
    check("a cut archive through a pipe", sorted(found) == ["a.png", "b.png"] and "/dev/fd" not in done.stderr, done)
    Path("cut2.tar").write_bytes(Path("cut.tar").read_bytes()[:1024 + 200])  # in the header of the second
    found, _ = predicted("cut2.tar", "mine/sky.png")
    check("cut between members", found.get("cut2.tar/a.png") == "blue" and "cannot be read" in found.get("cut2.tar", ""), found)

    tar_of("short.tar.gz", {"top/a.png": sky, "top/b.png": noise[:20_000]})  # one block to the reader
    Path("short.tar.gz").write_bytes(Path("short.tar.gz").read_bytes()[:10_000])
    found, _ = predicted("short.tar.gz")
    check("the last bytes there are", found.get("short.tar.gz/a.png") == "blue" and len(found) == 2, found)

    with zipfile.ZipFile("packed.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in three.items():
            archive.writestr(name, content)
    content = bytearray(Path("packed.zip").read_bytes())
    member = zipfile.ZipFile("packed.zip").getinfo("top/b.png")
    content[member.header_offset + 30 + len(member.filename)] = 7  # a kind of block that there is not
    Path("packed.zip").write_bytes(content)
    found, _ = predicted("packed.zip")
    check("a member that cannot be unpacked", {n: w == "blue" for n, w in found.items()} ==
          {"packed.zip/a.png": True, "packed.zip/b.png": False, "packed.zip/c.png": True}, found)

    with zipfile.ZipFile("crc.zip", "w") as archive:
        for name, content in three.items():
            archive.writestr(name, content)
        archive.writestr("top/notes.txt", noise)
    content = bytearray(Path("crc.zip").read_bytes())
    content[content.index(noise) + 5] ^= 1
    content[content.rindex(noise[1000:2000]) + 5] ^= 1
    Path("crc.zip").write_bytes(content)
    found, _ = predicted("crc.zip")
    check("a wrong checksum in a zip", {n: w == "blue" for n, w in found.items()} ==
          {"crc.zip/a.png": True, "crc.zip/b.png": False, "crc.zip/c.png": True} and "CRC" in found["crc.zip/b.png"], found)

    tar_of("ways.tar", {"a.png": sky, "../x": sky, "link.png": "a.png", "/x.png": sky, "z.png": sky})
    found, _ = predicted("ways.tar")
    check("the others of an archive", found.get("ways.tar/a.png") == found.get("ways.tar/z.png") == "blue", found)
    check("ways out of it", all("points outside" in found.get(n, "") for n in ("ways.tar/../x", "ways.tar//x.png")), found)
    check("and links", "is a link" in found.get("ways.tar/link.png", "") and len(found) == 5, found)
    learn("train", "--data", "ways.tar", "--model", "small:width=4", status=3)  # a data set is whole, or none


def names_in_messages():
    _, done = predicted("notes.txt", "-", stdin=b"no image either")
    check("a name is said once", done.stderr.count("notes.txt") == 1, done.stderr)
    check("standard input has one name", "'standard input': it is text" in done.stderr and "/dev/fd" not in done.stderr and "'-'" not in done.stderr, done.stderr)
    found, done = predicted("-", "mine/sky.png", stdin=Path("half.png").read_bytes())
    check("of a bad image too", "damaged PNG" in found.get("standard input", ""), found)
    found, done = predicted("-", "mine/sky.png", stdin=Path("mine/sky.png").read_bytes() + bytes(256 << 20))
    check("an image without an end", "more than 256 MiB" in found.get("standard input", "") and found.get("mine/sky.png") == "blue", found)

    Path("line\nbreak\t.png").write_bytes(Path("mine/sky.png").read_bytes())
    lines = learn("predict", "last", "line\nbreak\t.png").stdout.splitlines()
    check("a newline in a name is visible", len(lines) == 2 and lines[1].startswith("line\\x0abreak\\x09.png  blue"), lines)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    train()
    formats()
    errors()
    bad_entries_of_folders()
    bad_members_of_archives()
    names_in_messages()
    os.chdir("/")
sys.exit(1 if failures else 0)
