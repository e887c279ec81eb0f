#!/usr/bin/env python3
"""The NCCL of this machine, and others in its place: library.py NCCL_PROBE LEARN OLD_NCCL INCOMPLETE_NCCL.

The real library needs no GPU to be loaded, to make an id and to refuse to start. Exit status 77 without one.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "support"))
from fault_cases import check, conclude  # noqa: E402

PROBE, LEARN, OLD, INCOMPLETE = sys.argv[1:5]


def run(*command, **variables):
    done = subprocess.run(command, env={**os.environ, **variables}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=120)
    return done.returncode, done.stdout


def in_place(library, text):
    """Another library is refused, with what to install, by the report and by `learn doctor`, which succeeds."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(library, Path(folder) / "libnccl.so.2")
        status, output = run(PROBE, LD_LIBRARY_PATH=folder)
        check(text, status == 77 and re.search(text, output), output)
        status, output = run(LEARN, "doctor", "--seconds", "0", LD_LIBRARY_PATH=folder)
        check(f"doctor: {text}", status == 0 and re.search(f"nccl +none: .*{text}", output), output)


INSTALL = r"\(pip install nvidia-nccl-cu1\d\)"
in_place(OLD, r"libnccl.so.2 is NCCL 2\.17\.5, but 2\.18 or newer is needed: install it " + INSTALL)
in_place(INCOMPLETE, r"libnccl.so.2 is NCCL 2\.32\.3, but has no ncclGetErrorString: install a complete one " + INSTALL)
in_place(__file__, r"CUDA needs libnccl.so.2: .*install it " + INSTALL)

status, output = run(PROBE)
if status == 77:
    check("no NCCL: what to install", re.search(INSTALL, output), output)
    print(output)
else:
    found = re.search(r"^version (2\.\d+\.\d+)$\n^file (\S+)$\nid 0\nregister ([01])\nstart (\d+): (.*)$", output, re.MULTILINE)
    check("the real library", status == 0 and found, output)
    if found:
        version, file, register, result, text = found.groups()
        check("registration since 2.19", (int(version.split(".")[1]) >= 19) == (register == "1"), output)
        check("without a GPU it does not start, and says why",
              result == "0" or "CUDA driver" in text or "no CUDA-capable device" in text, output)
        status, doctor = run(LEARN, "doctor", "--seconds", "0")
        check("doctor", status == 0 and re.search(rf"nccl +{re.escape(version)}, {re.escape(file)}", doctor), doctor)
        print(f"NCCL {version}: {text}")
conclude(status if status == 77 else 0)
