#!/usr/bin/env python3
"""Writes layer_norm.h: what PyTorch computes for layer_norm and rms_norm, in float64.

    python3 tests/golden/layer_norm.py > tests/golden/layer_norm.h

Rows with a mean far from 0, and one of equal values, whose deviations are all eps.
"""
import torch
import torch.nn.functional as F

EPS = 0.0009765625  # exact in float32 too

torch.manual_seed(39)
torch.set_default_dtype(torch.float64)


def show(name, tensor):
    values = [repr(v) for v in tensor.detach().reshape(-1).tolist()]
    print(f"inline const std::vector<double> kLayerNorm{name}{{")
    for i in range(0, len(values), 4):
        print("    " + ", ".join(values[i : i + 4]) + ",")
    print("};")


x = torch.randn(4, 7) * 2
x[1] += 50
x[2] = 0.75
x.requires_grad_()
weight = (torch.rand(7) + 0.5).requires_grad_()
bias = torch.randn(7).requires_grad_()
dy = torch.randn(4, 7)
y = F.layer_norm(x, (7,), weight, bias, EPS)
y.backward(dy)
rms_x, rms_weight = (t.detach().clone().requires_grad_() for t in (x, weight))
rms_y = F.rms_norm(rms_x, (7,), rms_weight, EPS)
rms_y.backward(dy)
print("#pragma once")
print(f"// Made by layer_norm.py with PyTorch {torch.__version__.split('+')[0]}; do not edit.")
print("#include <vector>\n")
print("namespace learn::test::golden {\n")
print(f"inline constexpr double kLayerNormEps = {EPS};")
for name, tensor in [("X", x), ("Weight", weight), ("Bias", bias), ("Dy", dy), ("Y", y), ("Dx", x.grad),
                     ("Dweight", weight.grad), ("Dbias", bias.grad), ("RmsY", rms_y), ("RmsDx", rms_x.grad),
                     ("RmsDweight", rms_weight.grad)]:
    show(name, tensor)
print("\n}  // namespace learn::test::golden")
