#!/usr/bin/env python3
"""Tests `learn export`, `learn import` and `learn average` on a trained run: export.py PATH/TO/learn.

Prints failures; exit status 1 then. tests/export/compare.py tests the files in other runtimes.
"""
import json
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import read_checkpoint

LEARN = str(Path(sys.argv[1]).resolve())
TINY = ["--data", "synthetic10", "--train-limit", "40", "--valid-limit", "20", "-b", "20", "--epochs", "1", "--no-plots",
        "--threads", "1", "--workers", "0", "--device", "cpu"]
failures = []


def check(what, ok, seen=""):
    if not ok:
        failures.append(what)
        print(f"FAILED: {what}\n  {seen}")


def learn(*words, status=0):
    done = subprocess.run([LEARN, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    check(f"learn {' '.join(words)} is status {status}", done.returncode == status, done)
    return done


def refused(status, why, *words):
    done = learn(*words, status=status)
    check(f"the reason: {why}", why in done.stderr, done)


def exports():
    done = learn("export", "last", "net.onnx", "--fold")
    check("all of its BatchNorm is folded", "BatchNorm folded" in done.stdout and "0 BatchNorm" not in done.stdout, done)
    data = Path("net.onnx").read_bytes()
    for text in (b"small:width=2", b"image_size", b"classes", b"logits", b"batch"):
        check(f"the file holds {text}", text in data)
    numbers = read_checkpoint("runs/net/weights/best.safetensors")[0]["learn.normalization"].split()
    for name, values in (("mean", numbers[:3]), ("std", numbers[3:])):
        # An entry of metadata: key and value, each with its tag and its length.
        text = " ".join(values).encode()
        check(f"and its {name}", b"\x0a" + bytes([len(name)]) + name.encode() + b"\x12" + bytes([len(text)]) + text in data, text)
    check("BatchNorm is no part of it", b"BatchNormalization" not in data and b"running_var" not in data)
    done = learn("export", "runs/net", "plain.onnx", "--weights", "last")
    check("or it is, and that is said", "0 BatchNorm folded" in done.stdout, done)
    check("in the file", b"BatchNormalization" in Path("plain.onnx").read_bytes())
    learn("export", "runs/net", "whole.onnx", "--normalize", "--softmax")
    data = Path("whole.onnx").read_bytes()
    check("a graph can normalize and end in probabilities", b"Softmax" in data and b"Div" in data and b"probabilities" in data)

    done = learn("export", "runs/net", "net.safetensors")
    check("both files for PyTorch are named", "net.safetensors and net.py" in done.stdout, done)
    compile(Path("net.py").read_text(encoding="utf-8"), "net.py", "exec")
    learn("export", "runs/net", "net.safetensors")  # in the place of what it has made
    Path("mine.py").write_text("mine", encoding="utf-8")
    refused(2, "'mine.py', the module for PyTorch, would replace another file: use another FILE.safetensors",
            "export", "runs/net", "mine.safetensors")
    check("a program of one's own stays", Path("mine.py").read_text(encoding="utf-8") == "mine" and not Path("mine.safetensors").exists())
    refused(4, "was exported for PyTorch", "predict", "net.safetensors", "x.png")

    evil = os.fsencode('q"""\nimport os;os.mkdir("pwned");""" é') + b"\xff"
    learn("export", "runs/net", os.fsdecode(evil) + ".safetensors")
    code = compile(Path(os.fsdecode(evil + b".py")).read_bytes(), "evil.py", "exec")
    docstring = code.co_consts[0]
    check("a name of a file is no code", 'q"""\\x0aimport os' in docstring and "import os" not in code.co_names, docstring)
    text = Path(os.fsdecode(evil + b".py")).read_text(encoding="utf-8")
    name = eval(text.split("with_name(")[1].split(")):")[0])  # as Python reads it
    check("and is found again by Python", os.fsencode(name) == evil + b".safetensors", name)

    refused(2, "FILE.onnx, or FILE.safetensors for PyTorch", "export", "runs/net", "net.pb")
    refused(2, "--softmax is for ONNX", "export", "runs/net", "x.safetensors", "--softmax")
    refused(2, "--normalize is for ONNX", "export", "runs/net", "x.safetensors", "--normalize")
    refused(2, "--out elsewhere has no effect", "export", "runs/net", "x.onnx", "--out", "elsewhere")
    refused(4, "no run 'nowhere' in 'runs', and no such path", "export", "nowhere", "x.onnx")
    refused(5, "nowhere/x.onnx", "export", "runs/net", "nowhere/x.onnx")
    check("what was refused left nothing", not list(Path(".").glob("x.*")))


def tensors_of(path):
    """Name to bytes of a .safetensors file."""
    data = Path(path).read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    return {name: (entry["dtype"], data[8 + size + entry["data_offsets"][0]:8 + size + entry["data_offsets"][1]])
            for name, entry in header.items()}


def floats(path, name):
    dtype, data = tensors_of(path)[name]
    assert dtype == "F32"
    return struct.unpack(f"<{len(data) // 4}f", data)


def imports():
    done = learn("import", "net.safetensors", "--out", "back.safetensors")
    check("what was exported says what it is of", "small:width=2 of 'net.safetensors'" in done.stdout, done)
    check("and comes back with the same bits",
          tensors_of("back.safetensors") == tensors_of("runs/net/weights/best.safetensors"))
    measured = [learn("eval", path, "--data", "synthetic10", "--valid-limit", "20").stdout.splitlines()[-1]
                for path in ("back.safetensors", "runs/net")]
    check("and measures the same", measured[0] == measured[1], measured)
    learn("train", *TINY, "--model", "small:width=2", "--name", "fine", "--pretrained", "back.safetensors")

    Path("classes.txt").write_text("cat\ndog\n", encoding="utf-8")
    Path("map.txt").write_text("linear.* =\n", encoding="utf-8")
    other = ["import", "net.safetensors", "--out", "other.safetensors", "--classes", "classes.txt", "--image-size", "16",
             "--normalize", "imagenet", "--map", "map.txt"]
    refused(4, "missing in the file (1): linear.weight", *other)
    done = learn(*other, "--partial")
    check("what is missing has initial values", "missing in the file (1): linear.weight" in done.stderr, done)
    data = Path("other.safetensors").read_bytes()
    check("what was said is in the file", b"cat\\ndog" in data and b"16 16 3" in data and b"0.485 0.456" in data)
    learn(*other, "--partial", "--normalize", "cifar10", "--map", "linear.* = ; a = b")
    learn(*other, "--partial", "--normalize", "0.1:0.2:0.3:1:1:1", "--seed", "7", "--model", "small:width=2")
    refused(2, "line 1: 'linear' is not a rule", *other, "--map", "linear;a=b")
    refused(2, "name the weights to write", "import", "net.safetensors")
    Path("bare.safetensors").write_bytes((2).to_bytes(8, "little") + b"{}")
    bare = ["import", "bare.safetensors", "--out", "y.safetensors"]
    for words in ([], ["-m", "small"], ["-m", "small", "--classes", "a,b"],
                  ["-m", "small", "--classes", "a,b", "--image-size", "8"]):
        refused(2, "does not name its model: add --", *bare, *words)
    refused(4, "nothing in 'bare.safetensors' fits the model", *bare, "-m", "small", "--classes", "a,b", "--image-size", "8",
            "--normalize", "cifar10", "--partial")
    check("what was refused left nothing", not Path("y.safetensors").exists())


def averages():
    paths = ["runs/net", "runs/fine/weights/last.safetensors", "back.safetensors"]
    done = learn("average", *paths, "--out", "mean.safetensors")
    check("what was averaged is named", "runs/net/weights/best.safetensors" in done.stdout, done)
    best = ["runs/net/weights/best.safetensors", "runs/fine/weights/best.safetensors"]
    learn("average", *best, "--out", "two.safetensors")
    said = read_checkpoint("two.safetensors")[0]
    check("a mean says what it is of", said["learn.averaged"] == "\n".join(best), said)
    for name in ("layer2.conv.weight", "prep.bn.running_var"):
        one, two = (floats(path, name) for path in best)
        mean = floats("two.safetensors", name)
        check(f"{name} is the mean", all(abs((a + b) / 2 - c) <= 1e-7 * max(1, abs(c)) for a, b, c in zip(one, two, mean)))
        check(f"{name} is of both", mean not in (one, two))
    for weights in ("best", "last"):
        done = learn("average", "runs/net", "runs/fine", "--weights", weights, "--out", "of_runs.safetensors")
        check(f"the {weights} weights of runs are averaged", f"runs/net/weights/{weights}.safetensors" in done.stdout
              and f"runs/fine/weights/{weights}.safetensors" in done.stdout, done)
    learn("eval", "mean.safetensors", "--data", "synthetic10", "--valid-limit", "20")
    refused(2, "error: an average is of two checkpoints or more, not of 1", "average", "runs/net", "--out", "z.safetensors")
    refused(2, "name the weights to write", "average", "runs/net", "runs/fine")
    refused(4, "cannot be averaged: 'learn.classes' is", "average", "runs/net", "other.safetensors", "--out", "z.safetensors")
    check("what was refused left nothing", not Path("z.safetensors").exists())


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        learn("train", *TINY, "--model", "small:width=2", "--name", "net")
        exports()
        imports()
        averages()
        os.chdir("/")
    print("\n".join(failures) or "export: as it should be")
    sys.exit(1 if failures else 0)


main()
