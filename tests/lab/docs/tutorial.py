#!/usr/bin/env python3
"""The tutorial, followed word by word with the program PROGRAM: tutorial.py PROGRAM"""
import os
import sys
import tempfile
from pathlib import Path

from follow import follow

ROOT = Path(__file__).resolve().parents[3]
IMAGE = b"\x89PNG\r\n\x1a\n"


def main():
    program = Path(sys.argv[1]).resolve()
    faults = []
    with tempfile.TemporaryDirectory(prefix="learn tutorial ") as place:
        folder = Path(place) / "images"
        environment = {"PATH": f"{program.parent}:{os.environ['PATH']}", "LEARN_DEVICE": "cpu"}
        follow(ROOT / "framework/docs/tutorial.md", folder, environment, faults.append)
        for name in ("batch.png", "lr.png", "runs/shapes/results.png"):
            if not (folder / name).is_file() or not (folder / name).read_bytes().startswith(IMAGE):
                faults.append(f"{name} is no image")
        for name in ("runs/shapes/report.html", "shapes.onnx"):
            if not (folder / name).is_file() or (folder / name).stat().st_size < 10_000:
                faults.append(f"{name} is not there, or too small")
    print("\n".join(faults) or "the tutorial works")
    return 1 if faults else 0


sys.exit(main())
