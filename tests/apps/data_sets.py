#!/usr/bin/env python3
"""data_sets.py PATH/TO/learn: folders and archives as people have them, by every command that reads them."""
import json
import os
import tarfile
import zipfile
from pathlib import Path

from harness import TINY, Trial
from png import write_png

trial = Trial(__doc__)
SHORT = [word for word in TINY if word not in ("--data", "synthetic10", "--train-limit", "64", "--valid-limit", "32")]


def check(what, condition, outcome):
    trial.check(condition, what, outcome)


def images(folder, *classes, count=6):
    """Writes `count` images of each class, all different."""
    for label in classes:
        for i in range(count):
            images.tone += 1
            write_png(Path(folder, label, f"{i}.png"), 8, 8, (images.tone % 256, 50 + 30 * i, images.tone // 256))


images.tone = 0


def packed(folder):
    """A zip archive of it, as Python's library writes names."""
    with zipfile.ZipFile(f"{folder}.zip", "w") as archive:
        for path in sorted(Path(folder).rglob("*")):
            archive.write(path, path.relative_to(folder))
    return f"{folder}.zip"


def info(*words, **how):
    outcome = trial.run("data", "info", *words, "--json", **how)
    return json.loads(outcome.out) if outcome.status == 0 else {}, outcome


def trained(name, data, *words):
    return trial.run("train", *SHORT, "--data", data, "--name", name, *words)


# Names outside ASCII, whatever the locale is.
images("names", "ネコ", "dog")
Path("names/Übersicht.txt").write_text("x")
packed("names")
outcome = trained("names", "names.zip")
check("a zip with names outside ASCII is trained on", outcome.status == 0, outcome)
for locale in ("C", "POSIX", "C.UTF-8", "de_DE.ISO-8859-1"):
    env = {**os.environ, "LC_ALL": locale}
    for data in ("names", "names.zip"):
        found, outcome = info(data, env=env)
        check(f"{data} with LC_ALL={locale}", found.get("names") == ["dog", "ネコ"], outcome)
        outcome = trial.run("eval", "runs/names", "--data", data, env=env)
        check(f"{data} is measured with LC_ALL={locale}", outcome.status == 0, outcome)
        outcome = trial.run("predict", "runs/names", data, "--csv", env=env)
        check(f"{data} is predicted with LC_ALL={locale}", outcome.status == 0 and f"{data}/ネコ/5.png" in outcome.out, outcome)

# Parts by other names.
images("parts/Training_Set", "cat", "dog")
images("parts/VALIDATION", "cat", "dog", count=3)
images("parts/Testing", "cat", "dog", count=2)
for data in ("parts", packed("parts")):
    found, outcome = info(data)
    check(f"the parts of {data}", (found.get("names"), found["train"]["images"], found["valid"]["images"]) == (["cat", "dog"], 12, 6), outcome)
    outcome = trained("parts", data, "--exist-ok")
    check(f"{data} is trained on", outcome.status == 0 and "parts 12/6" in outcome.err, outcome)
    outcome = trial.run("eval", "runs/parts", "--data", data)
    check(f"{data} is measured on its tests", outcome.status == 0 and "parts/Testing" in outcome.out, outcome)
    outcome = trial.run("data", "verify", data)
    check(f"{data} is verified", outcome.status == 0 and "18 images" in outcome.out, outcome)
images("vehicles", "train", "bus", "test")
outcome = trial.run("data", "info", "vehicles")
check("an error names the choice", outcome.status == 3 and "if it is a class itself, append ':parts=false' to the path" in outcome.err, outcome)
outcome = trained("vehicles", "vehicles:parts=false")
check("classes called like parts", outcome.status == 0, outcome)
for words in ((), ("--data", "vehicles:parts=false")):
    outcome = trial.run("eval", "runs/vehicles", *words)
    check(f"and measured {words}", outcome.status == 0 and "bus" in outcome.out, outcome)

# Numbers.
numbers = ["0", "1", "2", "9", "10", "11"]
images("numbers", *numbers)
for data in ("numbers", packed("numbers"), r"numbers:label_regex=(\d+)/"):
    found, outcome = info(data)
    check(f"the order of {data}", found.get("names") == numbers, outcome)
outcome = trained("numbers", "numbers")
check("numbers are trained on", outcome.status == 0, outcome)
outcome = trial.run("export", "runs/numbers", "numbers.onnx")
check("and are in ONNX as they are here", outcome.status == 0 and "\n".join(numbers).encode() in Path("numbers.onnx").read_bytes(), outcome)

# Files that are not read.
images("rest", "cat", "dog")
for name, content in {"cat/a.avif": b"x", "cat/b.HEIC": b"x", "dog/c.heic": b"x", "dog/more.zip": b"PK", "dog/notes.txt": b"x",
                      "dog/Thumbs.db": b"x", "@eaDir/cat/SYNO.png": b"x", "__MACOSX/cat/._0.png": b"x"}.items():
    Path("rest", name).parent.mkdir(parents=True, exist_ok=True)
    Path("rest", name).write_bytes(content)
Path("rest/cat/photo.jfif").write_bytes(Path("rest/cat/0.png").read_bytes()[:-1] + b"\x82")
text = "skipped 5 files: 2 .heic, 1 .avif, 1 .txt, 1 .zip"
for data in ("rest", packed("rest")):
    found, outcome = info(data)
    check(f"{data} has its classes alone", found.get("names") == ["cat", "dog"], outcome)
    over = found["passed_over"]
    check(f"what {data} loses is in JSON", over["kinds"] == {".avif": 1, ".heic": 2, ".txt": 1, ".zip": 1}
          and {"file": f"{data}/cat/a.avif", "kind": ".avif", "may_be_image": True} in over["files"]
          and {"file": f"{data}/dog/notes.txt", "kind": ".txt", "may_be_image": False} in over["files"], outcome)
    outcome = trial.run("data", "info", data)
    check("and in the text", "skipped      5 files: 2 .heic, 1 .avif, 1 .txt, 1 .zip\n" in outcome.out, outcome)
    outcome = trained("rest", data, "--exist-ok")
    check("and in the log of a training", outcome.status == 0 and f"warning [data] '{data}': {text}" in outcome.err, outcome)
    check("which the run keeps", text in Path("runs/rest/run.log").read_text(), outcome)
    outcome = trial.run("data", "verify", data)
    check("and is a fault", outcome.status == 3 and f"4 skipped files that may be images:\n  {data}/cat/a.avif: .avif\n" in outcome.out
          and f"1 skipped files (not a fault in themselves):\n  {data}/dog/notes.txt: .txt\n" in outcome.out, outcome)
    found = json.loads(trial.run("data", "verify", data, "--json").out)
    check("in JSON as well", found["wrong"] and [f["why"] for f in found["lost"]] == [".avif", ".heic", ".heic", ".zip"]
          and [f["why"] for f in found["passed_over"]] == [".txt"], found)
    for words in (("eval", "runs/rest", "--data", data), ("predict", "runs/rest", data)):
        outcome = trial.run(*words)
        check(f"{words[0]} says it, too", outcome.status == 0 and f"'{data}': {text}" in outcome.err, outcome)
    check("predict has as many images as the set", outcome.out.count(".png") == 12 and outcome.out.count(".jfif") == 1, outcome)
images("noted", "cat", "dog")
Path("noted/README.txt").write_text("x")
outcome = trial.run("data", "verify", "noted")
check("a note is no fault", outcome.status == 0 and "noted/README.txt: .txt" in outcome.out, outcome)

# CIFAR-10 as its page offers it first.
Path("cifar-10-batches-py").mkdir()
for name in ("data_batch_1", "test_batch", "batches.meta"):
    Path("cifar-10-batches-py", name).write_bytes(b"\x80\x02")
with tarfile.open("cifar-10-python.tar.gz", "w:gz") as archive:
    archive.add("cifar-10-batches-py")
for data in ("cifar-10-batches-py", "cifar-10-python.tar.gz"):
    for words in (("train", *SHORT, "--data", data), ("data", "verify", data)):
        outcome = trial.run(*words)
        check(f"{data} is named as what it is", outcome.status == 3 and f"'{data}' is the Python version of CIFAR-10" in outcome.err, outcome)

# A class without validation images.
images("gap/train", "a", "b", "c")
images("gap/valid", "a", "c", count=2)
for data in ("gap", packed("gap")):
    outcome = trained("gap", data, "--exist-ok")
    check(f"{data}: a class without validation images is a warning",
          outcome.status == 0 and f"'{data}' has no validation images of 'b'" in outcome.err, outcome)

# Folders around the classes, and contents in their place.
images("wrapped/photos/all", "cat", "dog")
Path("wrapped/README.txt").write_text("x")
for data in ("wrapped", packed("wrapped")):
    outcome = trained("wrapped", data, "--exist-ok")
    check(f"{data} is entered", outcome.status == 0 and "/photos/all', the only folder" in outcome.err, outcome)
    outcome = trial.run("eval", "runs/wrapped", "--data", data)
    check(f"{data} is measured", outcome.status == 0, outcome)
Path("kaggle").mkdir()
Path("kaggle/train.zip").write_bytes(Path("numbers.zip").read_bytes())
for data in ("kaggle", packed("kaggle")):
    for words in (("data", "verify", data), ("train", *SHORT, "--data", data)):
        outcome = trial.run(*words)
        check(f"archives in {data} are named", outcome.status == 3 and f"it contains archives ('{data}/train.zip'): unpack" in outcome.err, outcome)
trial.conclude()
