#!/usr/bin/env python3
"""data.py PATH/TO/learn: `learn data` on sets that it makes, that people describe by tables and names, and that are damaged."""
import gzip
import json
import shutil
import struct
from pathlib import Path

from harness import TINY, Trial
from png import write_png

trial = Trial(__doc__)


def check(what, condition, outcome):
    trial.check(condition, what, outcome)


def refused(what, text, *words):
    outcome = trial.run("data", *words)
    check(what, outcome.status == 2 and text in outcome.err, outcome)


made = trial.run("data", "make", "synthetic10", "ten", "--train-limit", "40", "--valid-limit", "20")
check("a set is written as files", made.status == 0 and "40 + 20 images of 'synthetic10' -> ten" in made.out, made)
check("with a table", Path("ten/labels.csv").read_text().splitlines()[0] == "file,label,split", made)
check("of all images", len(list(Path("ten").rglob("*.png"))) == 60, made)
refused("what is there is not written over", "'ten' exists and is not empty", "make", "synthetic10", "ten")
refused("a folder to write is needed", "add the folder to write", "make", "synthetic10")
refused("but not to look at one", "'x' has no effect", "info", "ten", "x")
refused("an unknown action", "did you mean 'verify'?", "verfy", "ten")
refused("an option of another action", "--out has no effect on 'learn data info'", "info", "ten", "--out", "x.png")

nowhere = trial.run("data", "make", "synthetic10", "ten/labels.csv/x", "--train-limit", "10", "--valid-limit", "10")
check("a folder that cannot be made", nowhere.status == 5 and "cannot make the folder 'ten/labels.csv/x/train/" in nowhere.err, nowhere)
# So long that its folders can be made and its files cannot.
long = "l" + "/".join(["x" * 200] * 21)[:4077]
unwritten = trial.run("data", "make", "synthetic10", long, "--train-limit", "10", "--valid-limit", "10")
check("a file that cannot be written", unwritten.status == 5 and "cannot write 'lx" in unwritten.err, unwritten)
Path("paths.csv").write_text("file,label\n" + "".join(f"{image},{'a/b' if i % 2 else 'c'}\n"
                                                      for i, image in enumerate(sorted(Path("ten").rglob("*.png")))))
unnamed = trial.run("data", "make", "paths.csv", "sorted")
check("a class that is no folder's name", unnamed.status == 3 and "the class 'a/b' of 'paths' cannot be" in unnamed.err, unnamed)
# Names that a spreadsheet would take for formulas, and a separator within one.
image = sorted(Path("ten").rglob("*.png"))
Path("odd.csv").write_text("file,label\n" + "".join(f"{image[i]},{['@home', '=1+1', 'a;b'][i % 3]}\n" for i in range(12)))
trial.run("data", "make", "odd.csv", "odd", "--val-split", "0.5")
odd = trial.run("data", "info", "odd/labels.csv", "--json")
check("class names stay as they are", sorted(json.loads(odd.out)["names"]) == ["=1+1", "@home", "a;b"], odd)
Path("tags.csv").write_text("file,tags\n" + "".join(f"{image[i]},{['x', 'a;b'][i % 2]}\n" for i in range(12)))
tags = trial.run("data", "make", "tags.csv:label_delim=|", "tags", "--val-split", "0.5")
check("what separates labels is in none", tags.status == 3 and "the label 'a;b' of 'tags' contains ';'" in tags.err, tags)

original = json.loads(trial.run("data", "info", "synthetic10", "--train-limit", "40", "--valid-limit", "20", "--json").out)
for data in ("ten", "ten/labels.csv"):
    info = trial.run("data", "info", data, "--json")
    seen = json.loads(info.out)
    check(f"{data} has all images", (seen["train"]["images"], seen["valid"]["images"]) == (40, 20), info)
    check(f"{data} has their colours", [round(m, 6) for m in seen["mean"]] == [round(m, 6) for m in original["mean"]], info)
    check(f"{data} counts classes", sorted(seen["names"]) == sorted(original["names"]) and sum(seen["train"]["counts"]) == 40, info)
    check(f"{data} has formats", seen["formats"] == {"PNG": 60} and seen["bytes"] > 1000, info)
text = trial.run("data", "info", "ten")
check("people can read it", all(word in text.out for word in ("ten: 40 + 20 images, 32x32, colour", "60 PNG", "class")), text)
check("a training takes it", trial.run("train", *TINY, "--data", "ten/labels.csv").status == 0, made)

numbers = Path("ten/labels.csv").read_text().splitlines()
Path("ten/numbers.csv").write_text("\n".join(line + (",x" if i == 0 else f",{i / 10}") for i, line in enumerate(numbers)) + "\n")
guessed = trial.run("train", *TINY, "--data", "ten/numbers.csv:targets=x", "--name", "numbers")
check("real numbers are trained on", guessed.status == 0 and "best  epoch" in guessed.out and "valid_loss" in guessed.out, guessed)
Path("ten/tags.csv").write_text("\n".join(line + (",tags" if i == 0 else f",{['a', 'a;b', 'b', ''][i % 4]}")
                                         for i, line in enumerate(numbers)) + "\n")
tagged = trial.run("train", *TINY, "--data", "ten/tags.csv:label=tags,label_delim=;", "--class-weights", "balanced", "--name", "tags")
check("several labels are trained on", tagged.status == 0 and "best  epoch" in tagged.out and "valid_loss" in tagged.out, tagged)
grey = trial.run("train", *TINY, "--data", "ten/labels.csv:channels=1", "--name", "grey")
check("grey images are trained on", grey.status == 0, grey)
said = trial.run("predict", "runs/grey", "ten/valid")
check("and predicted, whatever the file has", said.status == 0 and said.out.count(".png") == 20, said)
coloured = trial.run("eval", "runs/grey", "--data", "ten/labels.csv")
check("other channels say what to do", coloured.status == 3 and "append ':channels=1'" in coloured.err, coloured)

for words, file in ((("--images", "2"), "data.png"), (("--valid", "--out", "v.svg"), "v.svg")):
    shown = trial.run("data", "show", "ten", *words)
    check(f"{file} is drawn", shown.status == 0 and Path(file).stat().st_size > 1000 and f"-> {file}" in shown.out, shown)

good = trial.run("data", "verify", "ten")
check("nothing is wrong", good.status == 0 and "no faults were found" in good.out and "60 of 32x32" in good.out, good)
classes = sorted(path.name for path in Path("ten/train").iterdir())
one = next(Path("ten/train", classes[0]).iterdir())
for what, place, status in (("an image in both parts", Path("ten/valid", classes[0]), 3),
                            ("an image of two classes", Path("ten/train", classes[1]), 3),
                            ("an image that is there twice", Path("ten/train", classes[0]), 0)):
    shutil.copy(one, place / "copy.png")
    alone = trial.run("data", "verify", "ten")
    check(f"{what}, alone, has status {status}", alone.status == status and "copy.png: is" in alone.out, alone)
    (place / "copy.png").unlink()
Path("ten/train", classes[2], "bad.jpg").write_bytes(one.read_bytes()[:200])
alone = trial.run("data", "verify", "ten")
check("damage alone has its status", alone.status == 3 and "bad.jpg: " in alone.out, alone)
Path("ten/train", classes[2], "bad.jpg").unlink()
shutil.copy(one, Path("ten/valid", classes[0], "again.png"))
shutil.copy(one, Path("ten/train", classes[1], "other.png"))
shutil.copy(one, Path("ten/train", classes[0], "same.png"))
for i in range(12):
    Path("ten/train", classes[2], f"{i}.jpg").write_bytes(b"\xff\xd8\xff no image")
write_png(Path("ten/valid", classes[3], "large.png"), 64, 48, (1, 2, 3))
bad = trial.run("data", "verify", "ten")
check("all of them together have one, too", bad.status == 3 and "faults were found" in bad.out, bad)
check("and is listed", "12 damaged:" in bad.out and "/0.jpg: damaged JPEG: " in bad.out and "and 2 more: --all" in bad.out, bad)
check("an image in both parts", "again.png: is ten/train/" in bad.out, bad)
check("labels that disagree", f"other.png: is '{classes[1]}', ten/train/{classes[0]}/" in bad.out, bad)
check("an image twice", "same.png: is ten/train/" in bad.out, bad)
check("other sizes", "1 of 64x48" in bad.out, bad)
everything = json.loads(trial.run("data", "verify", "ten", "--json").out)
check("JSON has all of it", everything["wrong"] and len(everything["damaged"]) == 12 and everything["sizes"]["64x48"] == 1, everything)
lost = trial.run("data", "verify", "./nowhere")
check("what is not there has its name", lost.status == 3 and "'./nowhere'" in lost.err, lost)
computed = trial.run("data", "verify", "synthetic10")
check("sets in memory are verified", computed.status == 0 and "60 000 images" in computed.out, computed)

failed = trial.run("train", *TINY, "--data", "ten", "--image-size", "32")
check("a training refuses damaged files", failed.status == 3 and ":skip_bad=true" in failed.err, failed)
trained = trial.run("train", *TINY, "--data", "ten:skip_bad=true,size=32", "--train-limit", "1.0", "--name", "skipping")
check("or skips them", trained.status == 0 and "skipped 12 of" in trained.err, trained)
check("and lists them beside its results", len(Path("runs/skipping/skipped.csv").read_text().splitlines()) == 13, trained)
check("and warns of the image in both parts", "1 of 22 validation images" in trained.err and "again.png is ten/train/" in trained.err, trained)

# Files that are not images, whatever their names, and images with rare extensions.
shutil.copytree("ten/train", "mixed")
for name, content in (("phone", b"\0\0\0\x18ftypheic\0\0\0\0mif1heic"), ("page", b"<!DOCTYPE html><title>404</title>"),
                      ("pointer", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"), ("hollow", bytes(900))):
    Path("mixed", classes[0], f"{name}.jpg").write_bytes(content)
for path in Path("mixed").rglob("[0-9].jpg"):
    path.unlink()
for path in Path("mixed").rglob("1[0-9].jpg"):
    path.unlink()
for i, ending in enumerate((".ppm", ".PGM", ".jfif")):
    pixels = bytes((i * 50 + 7 * p) % 256 for p in range(32 * 32 * (1 if i == 1 else 3)))
    Path("mixed", classes[1], f"rare{ending}").write_bytes(b"P%d 32 32 255\n" % (5 if i == 1 else 6) + pixels)
mixed = trial.run("data", "verify", "mixed")
check("what is no image is named", mixed.status == 3 and all(text in mixed.out for text in (
    "phone.jpg: it is HEIC, not JPEG,", "heif-convert", "page.jpg: it is an HTML page,", "pointer.jpg: it is a git-lfs pointer,",
    "run 'git lfs pull'", "hollow.jpg: it is only zeros,", "4 damaged:")), mixed)
for name in ("phone", "page", "pointer", "hollow"):
    Path("mixed", classes[0], f"{name}.jpg").unlink()
mixed = json.loads(trial.run("data", "info", "mixed", "--json").out)
check("rare extensions count", mixed["formats"]["PNM"] == 3, mixed)

# Arrays: MNIST's files.
def idx(*shape, content):
    return struct.pack(f">4B{len(shape)}I", 0, 0, 8, len(shape), *shape) + content


Path("mnist").mkdir()
for part, n, step in (("train", 60, 3), ("t10k", 20, 5)):
    labels = bytes(i % 4 for i in range(n))
    pixels = b"".join(bytes((60 * label + i + step * p) % 256 for p in range(64)) for i, label in enumerate(labels))
    Path("mnist", f"{part}-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(n, 8, 8, content=pixels)))
    Path("mnist", f"{part}-labels-idx1-ubyte").write_bytes(idx(n, content=labels))
arrays = json.loads(trial.run("data", "info", "mnist", "--json").out)
check("arrays are counted", (arrays["train"]["counts"], arrays["valid"]["counts"], arrays["channels"], arrays["names"])
      == ([15] * 4, [5] * 4, 1, list("0123")), arrays)
verified = trial.run("data", "verify", "mnist")
check("and verified", verified.status == 0 and "80 images, 80 of 8x8" in verified.out, verified)
trained = trial.run("train", *TINY, "--data", "mnist", "--name", "digits")
check("and trained on", trained.status == 0, trained)
measured = trial.run("eval", "runs/digits", "--data", "mnist")
check("and measured", measured.status == 0 and "20 images of mnist" in measured.out, measured)
lone = trial.run("data", "info", "mnist/t10k-labels-idx1-ubyte")
check("one of them is not a set", lone.status == 3 and "is one array of a data set: give the folder" in lone.err, lone)
trial.conclude()
