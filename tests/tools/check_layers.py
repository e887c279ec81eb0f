#!/usr/bin/env python3
"""Reads every #include "..." and fails if a layer reaches up. The table is the architecture.

check_layers.py [ROOT]. A self-test shows each time that a breach would be found.
"""
import pathlib
import re
import sys

FRAMEWORK = ["core", "tensor", "interfaces", "runtime", "kernels", "autograd", "nn", "optim", "amp", "io", "report", "evaluation",
             "drawing", "html", "tensorboard", "learner"]
BELOW = {
    "framework/core": {"framework/core"},
    "framework/tensor": {"framework/core", "framework/tensor"},
    "framework/interfaces": {"framework/core", "framework/tensor", "framework/interfaces"},
    "framework/runtime": {"framework/core", "framework/tensor", "framework/runtime"},
    "framework/kernels": {"framework/core", "framework/tensor", "framework/runtime", "framework/kernels"},
}
BELOW["framework/autograd"] = BELOW["framework/kernels"] | {"framework/autograd"}
BELOW["framework/nn"] = BELOW["framework/autograd"] | {"framework/interfaces", "framework/nn"}
BELOW["framework/optim"] = BELOW["framework/nn"] | {"framework/optim"}
BELOW["framework/amp"] = BELOW["framework/optim"] | {"framework/amp"}
BELOW["framework/io"] = BELOW["framework/optim"] | {"framework/io"}
BELOW["framework/export"] = BELOW["framework/io"] | {"framework/export"}
BELOW["framework/tensorboard"] = {"framework/core", "framework/io", "framework/tensorboard"}
BELOW["framework/report"] = {"framework/core", "framework/io", "framework/report"}
BELOW["framework/evaluation"] = {"framework/core", "framework/tensor", "framework/interfaces", "framework/evaluation"}
BELOW["framework/drawing"] = BELOW["framework/report"] | {"framework/evaluation", "framework/drawing"}
BELOW["framework/html"] = BELOW["framework/drawing"] | {"framework/html"}
BELOW["framework/learner"] = BELOW["framework/optim"] | {"framework/report", "framework/evaluation", "framework/learner"}
BELOW["callbacks"] = {f"framework/{layer}" for layer in FRAMEWORK} | {"callbacks"}
BELOW["models"] = BELOW["framework/nn"] | {"models"}
BELOW["data"] = BELOW["framework/kernels"] | BELOW["framework/drawing"] | {"framework/interfaces", "data"}
# What a trained model is used with knows the registries of both.
BELOW["framework/inference"] = BELOW["framework/io"] | {"framework/evaluation", "framework/inference", "models", "data"}
BELOW["apps"] = BELOW["callbacks"] | {"framework/inference", "framework/export"} | {"models", "data", "apps"}
BELOW["tests"] = BELOW["apps"] | {"tests"}

# nvcc reads these; it must never parse fmt, spdlog, Var or Module.
CUDA_MAY = re.compile(
    r"^framework/(core/(dtype|shape|random|device)\.h|runtime/(cuda/[a-z_/]+\.(h|cuh)|cuda_options\.h)"
    r"|kernels/(common/([a-z_]+\.h|cuda/.*)|[a-z]+/[a-z_/]+\.(h|cuh)))$")
CUDA_MUST_NOT = re.compile(r"/(context|dispatch)\.h$|_(cpu|reference)\.h$")
DEVICE_MAY = re.compile(r"^framework/(kernels/common/cuda/device/|core/(dtype|random)\.h)")
# Kernel families know `common`, and nothing of each other.
FAMILY = re.compile(r"^framework/kernels/([a-z]+)/")
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
        elif FAMILY.match(path) and FAMILY.match(target) and \
                FAMILY.match(target).group(1) not in ("common", FAMILY.match(path).group(1)):
            yield where + "a kernel family includes none of the others"
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
    assert not list(breaches("framework/kernels/pool/a_cuda.cu", '#include "framework/kernels/common/cuda/map.cuh"'))
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
