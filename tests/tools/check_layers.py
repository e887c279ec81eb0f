#!/usr/bin/env python3
"""Reads every #include "..." and fails if a layer reaches up. The table is the architecture.

check_layers.py [ROOT]. A self-test shows each time that a breach would be found.
"""
import pathlib
import re
import sys

FRAMEWORK = ["core", "tensor", "backend", "autograd", "nn", "optim", "io", "report", "learner"]
BELOW = {
    "framework/core": {"framework/core"},
    "framework/tensor": {"framework/core", "framework/tensor"},
    "framework/backend": {"framework/core", "framework/tensor", "framework/backend"},
    "framework/autograd": {"framework/core", "framework/tensor", "framework/backend", "framework/autograd"},
}
BELOW["framework/nn"] = BELOW["framework/autograd"] | {"framework/nn"}
BELOW["framework/optim"] = BELOW["framework/nn"] | {"framework/optim"}
BELOW["framework/io"] = BELOW["framework/optim"] | {"framework/io"}
BELOW["framework/report"] = {"framework/core", "framework/io", "framework/report"}
BELOW["framework/learner"] = BELOW["framework/optim"] | {"framework/report", "framework/learner"}
BELOW["callbacks"] = {f"framework/{layer}" for layer in FRAMEWORK} | {"callbacks"}
BELOW["models"] = BELOW["framework/nn"] | {"models"}
BELOW["data"] = BELOW["framework/backend"] | {"data"}
BELOW["apps"] = BELOW["callbacks"] | {"models", "data", "apps"}
BELOW["tests"] = BELOW["apps"] | {"tests"}

# nvcc reads these; it must never parse fmt, spdlog, Var or Module.
CUDA_MAY = re.compile(
    r"^framework/(core/(dtype|shape|random|device)\.h|backend/[a-z_]+\.h|backend/cuda/.*\.(h|cuh))$")
CUDA_MUST_NOT = re.compile(r"^framework/backend/(context|dispatch)\.h$")
DEVICE_MAY = re.compile(r"^framework/(backend/cuda/device/|core/(dtype|random)\.h)")
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')


def layer_of(path):
    parts = path.split("/")
    return "/".join(parts[:2]) if parts[0] == "framework" else parts[0]


def breaches(path, text):
    layer = layer_of(path)
    for number, line in enumerate(text.splitlines(), 1):
        found = INCLUDE.match(line)
        if not found:
            continue
        target = found.group(1)
        where = f"{path}:{number}: includes {target}: "
        if layer_of(target) not in BELOW.get(layer, set()):
            yield where + f"{layer} may include only {', '.join(sorted(BELOW.get(layer, set())))}"
        elif "/cuda/device/" in path and not DEVICE_MAY.match(target):
            yield where + "device code includes nothing from outside but dtype.h and random.h"
        elif path.endswith(".cu") and path.startswith("framework/") and (
                not CUDA_MAY.match(target) or CUDA_MUST_NOT.match(target)):
            yield where + "a .cu file includes core/{dtype,shape,random,device}.h, plain backend headers and device/ only"


def self_test():
    assert list(breaches("framework/core/a.h", '#include "framework/tensor/tensor.h"'))
    assert list(breaches("models/a.cpp", '#include "framework/learner/learner.h"'))
    assert list(breaches("framework/nn/a.h", '#include "apps/learn/main.h"'))
    assert list(breaches("framework/backend/cuda/a.cu", '#include "framework/backend/context.h"'))
    assert not list(breaches("callbacks/a.cpp", '#include "framework/learner/learner.h"'))
    assert not list(breaches("framework/core/a.h", "#include <vector>"))


def main():
    self_test()
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2])
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
