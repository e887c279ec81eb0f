#!/usr/bin/env python3
"""Reads every #include "..." and fails if a layer reaches up. The table is the architecture.

check_layers.py [ROOT]. A self-test shows each time that a breach would be found.
"""
import pathlib
import re
import sys

# Each room and its direct dependencies: it may include those, their dependencies, and itself. A folder in this table is a
# separate room, together with its subfolders that are not in the table.
ROOMS = {
    "framework/core": [],
    "framework/tensor": ["framework/core"],
    "framework/interfaces": ["framework/tensor"],
    "framework/runtime": ["framework/tensor"],
    "framework/distributed": ["framework/runtime"],
    "framework/kernels": ["framework/runtime"],
    "framework/autograd": ["framework/kernels"],
    "framework/nn": ["framework/autograd", "framework/interfaces"],
    "framework/optim": ["framework/distributed", "framework/nn"],
    "framework/amp": ["framework/optim"],
    "framework/io": ["framework/optim"],
    "framework/runs": ["framework/io"],
    "framework/export": ["framework/io"],
    "framework/tensorboard": ["framework/core", "framework/io"],
    "framework/terminal": ["framework/core"],
    "framework/evaluation": ["framework/interfaces"],
    "framework/drawing": ["framework/evaluation", "framework/io"],
    "framework/html": ["framework/drawing"],
    "framework/metrics": ["framework/kernels", "framework/evaluation"],
    "framework/learner": ["framework/io", "framework/metrics", "framework/terminal"],
    "callbacks": ["framework/learner", "framework/drawing", "framework/runs"],
    "callbacks/precision": ["callbacks"],
    "callbacks/report": ["callbacks", "framework/tensorboard"],
    "callbacks/diagnose": ["callbacks/precision", "callbacks/report"],
    "models": ["framework/nn"],
    "data/names": ["framework/core"],
    "data/images": ["data/names", "framework/kernels"],
    "data": ["data/images", "framework/interfaces", "framework/io"],
    "data/files": ["data"],
    "data/sets": ["data/files"],
    "data/loading": ["data/sets", "framework/kernels"],
    "data/show": ["data/loading", "framework/drawing"],
    # Use of a trained model: depends on the registries of models and data.
    "framework/inference": ["framework/runs", "framework/evaluation", "models", "data/loading"],
    "framework/learn.h": ["callbacks/precision", "callbacks/report", "framework/inference"],  # for users; nothing below apps includes it
    "apps": ["framework/learn.h", "callbacks/diagnose", "data/show", "framework/amp", "framework/export", "framework/html", "framework/inference"],
    "tests": ["apps"],
}
# TerminateOnNan names the layer with the first value that is not finite.
ALSO = {"callbacks": {"callbacks/diagnose/first_non_finite.h"}}


def below(room):
    return {room}.union(*map(below, ROOMS[room]))


BELOW = {room: below(room) for room in ROOMS}

# nvcc reads these; it must never parse fmt, spdlog, Var or Module.
CUDA_MAY = re.compile(
    r"^framework/(core/(dtype|shape|random|device)\.h|runtime/(cuda/[a-z_/]+\.(h|cuh)|cuda_options\.h)"
    r"|kernels/(common/([a-z_]+\.h|cuda/.*)|[a-z]+/[a-z_/]+\.(h|cuh)))$")
CUDA_MUST_NOT = re.compile(r"/(context|dispatch)\.h$|_(cpu|reference)\.h$")
DEVICE_MAY = re.compile(r"^framework/(kernels/common/cuda/device/|core/(dtype|random)\.h)")
# Folders side by side that do not include each other, except `common`, and `product`, which on a host is a convolution.
APART = re.compile(r"^(framework/kernels|framework/learner)/([a-z]+)/")
ON = {"product": "conv"}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')


def room_of(path):
    while path not in ROOMS:
        path = path.rpartition("/")[0]
        if not path:
            return ""
    return path


def apart(path, target):
    here, there = APART.match(path), APART.match(target)
    return here and there and here[1] == there[1] and there[2] not in ("common", here[2], ON.get(here[2]))


def breaches(path, text):
    room = room_of(path)
    for number, line in enumerate(text.splitlines(), 1):
        found = INCLUDE.match(line)
        if not found:
            continue
        target = found.group(1)
        where = f"{path}:{number}: includes {target}: "
        if room not in BELOW:
            yield where + "its folder is no room: enter it in ROOMS"
        elif room_of(target) not in BELOW[room] and target not in ALSO.get(room, ()):
            yield where + f"{room} may include only {', '.join(sorted(BELOW[room]))}"
        elif apart(path, target):
            yield where + "folders side by side here include nothing of each other but common"
        elif "/cuda/device/" in path and not DEVICE_MAY.match(target):
            yield where + "device code includes nothing from outside but dtype.h and random.h"
        elif path.endswith(".cu") and path.startswith("framework/") and (
                not CUDA_MAY.match(target) or CUDA_MUST_NOT.match(target)):
            yield where + "a .cu file includes core/{dtype,shape,random,device}.h, its family's plain headers and common/cuda only"


def self_test():
    assert list(breaches("framework/core/a.h", '#include "framework/tensor/tensor.h"'))
    assert list(breaches("models/a.cpp", '#include "framework/learner/learner.h"'))
    assert list(breaches("framework/runtime/a.h", '#include "framework/interfaces/batch.h"'))
    assert list(breaches("framework/nn/a.h", '#include "apps/learn/main.h"'))
    assert list(breaches("framework/kernels/pool/a_cuda.cu", '#include "framework/runtime/context.h"'))
    assert list(breaches("framework/kernels/pool/a_cpu.cpp", '#include "framework/kernels/norm/a.h"'))
    assert not list(breaches("framework/kernels/product/a.cpp", '#include "framework/kernels/conv/conv_reference.h"'))
    assert list(breaches("framework/kernels/conv/a.cpp", '#include "framework/kernels/product/linear.h"'))
    assert not list(breaches("framework/kernels/pool/a_cuda.cu", '#include "framework/kernels/common/cuda/map.cuh"'))
    assert not list(breaches("callbacks/a.cpp", '#include "framework/learner/learner.h"'))
    assert not list(breaches("framework/core/a.h", "#include <vector>"))
    assert list(breaches("data/images/a.h", '#include "data/dataset.h"'))
    assert list(breaches("callbacks/report/a.h", '#include "callbacks/diagnose/blame.h"'))
    assert not list(breaches("callbacks/diagnose/a.h", '#include "callbacks/report/csv_logger.h"'))
    assert list(breaches("framework/learner/find/a.h", '#include "framework/learner/history/recorder.h"'))
    assert not list(breaches("framework/learner/find/a.h", '#include "framework/learner/learner.h"'))
    assert list(breaches("callbacks/a.cpp", '#include "framework/learn.h"'))
    assert list(breaches("framework/nowhere/a.h", '#include "framework/core/error.h"'))


def main():
    self_test()
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[3])
    bad, seen = [], 0
    for top in ("framework", "callbacks", "models", "data", "apps", "tests"):
        for file in sorted((root / top).rglob("*")):
            if file.suffix in {".h", ".cpp", ".cu", ".cuh"}:
                seen += 1
                bad += breaches(str(file.relative_to(root)), file.read_text())
    if not seen:
        sys.exit(f"no sources under {root}")
    print("\n".join(bad) or f"layering: {seen} files hold it")
    sys.exit(1 if bad else 0)


main()
