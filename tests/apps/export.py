#!/usr/bin/env python3
"""What `learn export`, `learn import` and `learn average` do with a trained run: export.py PATH/TO/learn.

Prints what failed; exit status 1 then. What other runtimes make of the files: tests/export/compare.py.
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

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
    done = learn("export", "last", "net.onnx")
    check("all of its BatchNorm is folded", "BatchNorm folded" in done.stdout and "0 BatchNorm" not in done.stdout, done)
    data = Path("net.onnx").read_bytes()
    for text in (b"small:width=2", b"image_size", b"classes", b"logits", b"batch"):
        check(f"the file holds {text}", text in data)
    check("BatchNorm is no part of it", b"BatchNormalization" not in data and b"running_var" not in data)
    done = learn("export", "runs/net", "plain.onnx", "--no-fold", "--weights", "last")
    check("or it is, and that is said", "0 BatchNorm folded" in done.stdout, done)
    check("in the file", b"BatchNormalization" in Path("plain.onnx").read_bytes())
    learn("export", "runs/net", "whole.onnx", "--normalize", "--softmax")
    data = Path("whole.onnx").read_bytes()
    check("a graph can normalise and end in probabilities", b"Softmax" in data and b"Div" in data and b"probabilities" in data)

    done = learn("export", "runs/net", "net.safetensors", "--no-fold")
    check("both files for PyTorch are named", "net.safetensors and net.py" in done.stdout, done)
    compile(Path("net.py").read_text(encoding="utf-8"), "net.py", "exec")
    refused(4, "was exported for PyTorch", "predict", "net.safetensors", "x.png")

    refused(2, "FILE.onnx, or FILE.safetensors for PyTorch", "export", "runs/net", "net.pb")
    refused(2, "--softmax is for ONNX", "export", "runs/net", "x.safetensors", "--softmax")
    refused(2, "--normalize is for ONNX", "export", "runs/net", "x.safetensors", "--normalize")
    refused(2, "--out elsewhere has no effect", "export", "runs/net", "x.onnx", "--out", "elsewhere")
    refused(4, "neither a run nor a checkpoint", "export", "nowhere", "x.onnx")
    refused(5, "nowhere/x.onnx", "export", "runs/net", "nowhere/x.onnx")
    check("what was refused left nothing", not list(Path(".").glob("x.*")))


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        learn("train", *TINY, "--model", "small:width=2", "--name", "net")
        exports()
        os.chdir("/")
    print("\n".join(failures) or "export: as it should be")
    sys.exit(1 if failures else 0)


main()
