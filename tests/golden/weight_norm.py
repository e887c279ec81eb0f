#!/usr/bin/env python3
"""Writes weight_norm.h: what PyTorch computes for weight normalisation, in float64.

    python3 tests/golden/weight_norm.py > tests/golden/weight_norm.h

A small net of a convolution and a linear layer, both with weight norm, in three steps of SGD with momentum and weight
decay of all but the biases. Images are drawn and printed as (N,H,W,C), weights of convolutions as (K,R,S,C).
"""
import torch
import torch.nn.functional as F
from torch.nn.utils.parametrizations import weight_norm

LR, MOMENTUM, DECAY, STEPS = 0.25, 0.875, 0.0625, 3  # exact in float32 too

torch.manual_seed(14)
torch.set_default_dtype(torch.float64)


def show(name, tensor):
    tensor = tensor.detach()
    if tensor.dim() == 4:
        tensor = tensor.permute(0, 2, 3, 1)
    values = [repr(v) for v in tensor.reshape(-1).tolist()]
    print(f"inline const std::vector<double> k{name}{{")
    for i in range(0, len(values), 4):
        print("    " + ", ".join(values[i : i + 4]) + ",")
    print("};")


def show_layer(name, layer, values):
    length, direction = layer.parametrizations.weight.original0, layer.parametrizations.weight.original1
    for part, parameter in [("G", length), ("V", direction), ("Bias", layer.bias)]:
        show(name + part, values(parameter))


conv = torch.nn.Conv2d(2, 4, 3, padding=1)
linear = torch.nn.Linear(4, 3)
layers = [("Conv", weight_norm(conv)), ("Linear", weight_norm(linear))]
with torch.no_grad():
    for _, layer in layers:  # as after some training: lengths that are not those of v
        length = layer.parametrizations.weight.original0
        length.copy_(0.5 + torch.rand_like(length))
x, labels = torch.randn(5, 2, 4, 4), torch.tensor([2, 0, 1, 1, 0])


def logits():
    return linear(F.relu(conv(x)).mean((2, 3)))


biases = [conv.bias, linear.bias]
others = [p for _, layer in layers for p in layer.parameters() if p is not layer.bias]
optimizer = torch.optim.SGD([{"params": others}, {"params": biases, "weight_decay": 0}], LR, MOMENTUM,
                            weight_decay=DECAY)

print("#pragma once")
print(f"// Made by weight_norm.py with PyTorch {torch.__version__.split('+')[0]}; do not edit.")
print("#include <vector>\n")
print("namespace learn::test::golden {\n")
print(f"inline constexpr double kWnLr = {LR}, kWnMomentum = {MOMENTUM}, kWnDecay = {DECAY};")
print(f"inline constexpr int kWnSteps = {STEPS};")
show("WnX", x)
show("WnLabels", labels.double())
for name, layer in layers:
    show_layer("Wn" + name, layer, lambda p: p)
show("WnConvWeight", conv.weight)
show("WnLogits", logits())
for step in range(STEPS):
    optimizer.zero_grad()
    loss = F.cross_entropy(logits(), labels)
    loss.backward()
    if step == 0:
        show("WnLoss", loss)
        for name, layer in layers:
            show_layer("WnGrad" + name, layer, lambda p: p.grad)
    optimizer.step()
for name, layer in layers:
    show_layer("WnTrained" + name, layer, lambda p: p)
print("\n}  // namespace learn::test::golden")
