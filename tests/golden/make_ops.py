#!/usr/bin/env python3
"""Writes ops_values.h: operations and losses of PyTorch in double, with their gradients, also where they are at a border.

    python3 make_ops.py >ops_values.h
"""
import math

import torch
import torch.nn.functional as F
import torchvision

inf, nan = math.inf, math.nan
torch.manual_seed(7)
cases = []


def weights(count):
    """What the elements of an output count in the sum that is differentiated; ops_golden_test.cpp has the same."""
    return torch.tensor([(7 * i % 11 - 4.5) / 4 for i in range(count)], dtype=torch.float64)


def case(name, f, *inputs, constants=()):
    """`constants` are inputs without a gradient."""
    inputs = [torch.as_tensor(x, dtype=torch.float64).clone().requires_grad_() for x in inputs]
    constants = [torch.as_tensor(x) for x in constants]
    out = f(*inputs, *constants)
    out.backward(weights(out.numel()).reshape(out.shape))
    cases.append((name, [*inputs, *constants], out, [x.grad for x in inputs]))


def rand(*shape):
    return torch.randn(shape, dtype=torch.float64).mul(64).round().div(32)


a, b = rand(2, 3), rand(3).abs() + 0.5
case("sub", torch.sub, a, b)
case("div", torch.div, a, b)
case("mul", torch.mul, a, b)
case("div", torch.div, [1.0, -1.0, 0.0, 0.0, 2.0], [0.0, 0.0, 0.0, 3.0, inf])
case("pow", torch.pow, [0.0, 0.0, 0.0, 2.0, -2.0, -2.0, 1.5, 0.5, nan, 1.0], [0.0, 0.5, 2.0, -1.0, 3.0, 0.5, 2.5, -0.3, 0.0, nan])
for exponent in (0, 0.5, 1, 2, 3, -1, 1.75):
    case(f"pow {exponent:g}", lambda x: torch.pow(x, exponent), [0.0, 1.5, -2.0, 4.0, inf])
case("minimum", torch.minimum, [1.0, 2.0, 3.0, nan, 0.0, inf], [1.0, 3.0, 2.0, 1.0, nan, inf])
case("maximum", torch.maximum, [1.0, 2.0, 3.0, nan, 0.0, inf], [1.0, 3.0, 2.0, 1.0, nan, inf])
case("clamp", lambda x: torch.clamp(x, -1, 1), [-2.0, -1.0, -0.5, 1.0, 1.5, inf, -inf])
edges = [0.0, 1e-3, -1e-3, 0.7, -0.7, 3.0, -3.0, 60.0, -60.0, inf, -inf, nan]
for name in ("sin", "cos"):
    case(name, getattr(torch, name), [0.0, 1e-3, 0.7, -0.7, 3.0, 60.0, -60.0, 8000.0, -1e5, 2.0**40, inf, nan])
for name in ("abs", "exp", "sigmoid", "tanh"):
    case(name, getattr(torch, name), edges)
for name in ("sqrt", "log", "log1p"):
    case(name, getattr(torch, name), [0.0, 1e-3, 1e-5, 0.5, 1.0, 3.0, 1e30, 1e-39, inf, -2.0, nan])
case("softplus", F.softplus, [1e-3, 0.7, -0.7, 3.0, -3.0, 60.0, -60.0])
# PyTorch's gradient of NaN is NaN here, by way of the product, which is not taken.
case("less", lambda x, y: torch.where(x < y, x * y, x), [1.0, 2.0, 3.0], [2.0, 2.0, 2.0])
rows = torch.tensor([[1.0, 2.0, 3.0, 2.0], [1000.0, 999.0, -1000.0, 0.0], [-inf, 0.0, 1.0, -inf]])
case("softmax", lambda x: torch.softmax(x, -1), rows)
case("log_softmax", lambda x: torch.log_softmax(x, -1), rows[:2])
block = rand(2, 3, 2)
block[1, 0, 0] = block[1, 2, 0] = 5.0
case("sum 1", lambda x: x.sum(1), block)
case("mean 0 2", lambda x: x.mean((0, 2)), block)
case("max 1", lambda x: x.amax(1), block)
case("min 0 1", lambda x: x.amin((0, 1)), block)
case("max 1", lambda x: x.amax(1), [[1.0, inf, inf], [-inf, -inf, -inf]])
case("matmul", torch.matmul, rand(2, 3), rand(3, 4))
case("matmul", torch.matmul, rand(2, 2, 3), rand(2, 3, 2))

x, t = rand(3, 4), rand(3, 4)
x[0, 0] = t[0, 0]
x[0, 1] = t[0, 1] + 0.5
t01 = torch.tensor([[0.0, 1.0, 0.25, 1.0], [1.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.5]], dtype=torch.float64)
far = x.clone()
far[1] = torch.tensor([0.0, 40.0, -40.0, 12.0])
case("l1", F.l1_loss, x, constants=[t])
case("huber", lambda p, y: F.huber_loss(p, y, delta=0.5), x, constants=[t])
case("smooth_l1", lambda p, y: F.smooth_l1_loss(p, y, beta=0.5), x, constants=[t])
case("smooth_l1 0", lambda p, y: F.smooth_l1_loss(p, y, beta=0), x, constants=[t])
case("bce", F.binary_cross_entropy_with_logits, far, constants=[t01])
pos = torch.tensor([1.0, 3.0, 0.5, 2.0], dtype=torch.float64)
case("bce weighted", lambda p, y, w: F.binary_cross_entropy_with_logits(p, y, pos_weight=w), far, constants=[t01, pos])
focal = torchvision.ops.sigmoid_focal_loss
case("focal", lambda p, y: focal(p, y, reduction="mean"), far, constants=[t01])
case("focal 1.5", lambda p, y: focal(p, y, alpha=-1, gamma=1.5, reduction="mean"), x, constants=[t01])
labels = torch.tensor([2, 0, 3])
soft = torch.softmax(rand(3, 4), 1)
case("weighted", lambda p, y, w: F.cross_entropy(p, y, weight=w), far, constants=[labels, pos])
case("weighted smooth", lambda p, y, w: F.cross_entropy(p, y, weight=w, label_smoothing=0.25), x, constants=[labels, pos])
# PyTorch divides by the 3 samples, the library by what their targets weigh.
case("weighted smooth", lambda p, y, w: F.cross_entropy(p, y, weight=w, label_smoothing=0.25) * 3 / (y * w).sum(), x, constants=[soft, pos])
case("cosine", lambda p, y: F.cosine_embedding_loss(p, y, torch.ones(3)), x, constants=[t])
case("mse", F.mse_loss, x, constants=[t])
case("cross_entropy", F.cross_entropy, far, constants=[labels])
case("cross_entropy smooth", lambda p, y: F.cross_entropy(p, y, label_smoothing=0.25), x, constants=[labels])
# What is not finite: infinite derivatives of a branch that is not taken, and 0 times infinity.
at_ends = [inf, -inf, nan, 0.0, 2.0, -2.0]
case("relu", F.relu, at_ends)
case("leaky_relu", lambda x: F.leaky_relu(x, 0.125), at_ends)
case("relu6", F.relu6, [*at_ends, 6.0, 7.0])
case("silu", F.silu, [inf, nan, 0.0, 2.0, -2.0])
# Not F.hardsigmoid, whose gradient has 1/6 in f32 for doubles, too.
case("hardsigmoid", lambda x: F.relu6(x + 3) / 6, [*at_ends, 3.0, -3.0, 4.0, -4.0])
case("hardswish", F.hardswish, [*at_ends, 3.0, -3.0, 4.0, -4.0])
case("gelu_tanh", lambda x: F.gelu(x, approximate="tanh"), [nan, 0.0, 0.5, -0.5, 2.0, -2.0, 5.0, -5.0, 100.0, -100.0])
case("mish", F.mish, [nan, 0.0, 0.5, -0.5, 2.0, -2.0, 8.0, -8.0, 30.0, -30.0])
case("softplus", F.softplus, [inf, -inf, nan])
case("pow 2", lambda x: torch.pow(x, 2), [-inf, nan])
case("pow 1.75", lambda x: torch.pow(x, 1.75), [-inf, nan])
case("pow", torch.pow, [inf, inf, -inf, -inf, nan, 0.0], [0.0, -1.0, 0.0, 2.0, 2.0, inf])
for values in ((inf, -inf), (-inf, inf), (nan, 1.0)):
    bad = x.clone()
    bad[0, 0], bad[0, 1] = values  # of targets 0 and 1
    for op, loss, target in (("mse", F.mse_loss, t), ("l1", F.l1_loss, t), ("huber", lambda p, y: F.huber_loss(p, y, delta=0.5), t),
                             ("smooth_l1", lambda p, y: F.smooth_l1_loss(p, y, beta=0.5), t),
                             ("smooth_l1 0", lambda p, y: F.smooth_l1_loss(p, y, beta=0), t), ("bce", F.binary_cross_entropy_with_logits, t01),
                             ("focal", lambda p, y: focal(p, y, reduction="mean"), t01),
                             ("cosine", lambda p, y: F.cosine_embedding_loss(p, y, torch.ones(3)), t),
                             ("cross_entropy", F.cross_entropy, labels),
                             ("cross_entropy smooth", lambda p, y: F.cross_entropy(p, y, label_smoothing=0.25), labels)):
        case(op, loss, bad, constants=[target])
    case("bce weighted", lambda p, y, w: F.binary_cross_entropy_with_logits(p, y, pos_weight=w), bad, constants=[t01, pos])
    case("weighted", lambda p, y, w: F.cross_entropy(p, y, weight=w), bad, constants=[labels, pos])
    case("weighted smooth", lambda p, y, w: F.cross_entropy(p, y, weight=w, label_smoothing=0.25), bad, constants=[labels, pos])
# A class that is impossible and not wanted.
masked = x.clone()
masked[0, 0] = masked[1, 1] = masked[1, 3] = -inf
for op, loss, rest in (("weighted", lambda p, y, w: F.cross_entropy(p, y, weight=w), [labels, pos]), ("cross_entropy", F.cross_entropy, [labels])):
    case(op, loss, masked, constants=rest)


def number(value):
    if math.isnan(value):
        return "kNan"
    if math.isinf(value):
        return "kInf" if value > 0 else "-kInf"
    return repr(value)


def numbers(tensor):
    return "{" + ", ".join(number(v) for v in tensor.detach().double().flatten().tolist()) + "}"


def shape(tensor):
    return "{" + ", ".join(str(n) for n in tensor.shape) + "}"


print(f"// Made by make_ops.py with PyTorch {torch.__version__.split('+')[0]} and torchvision "
      f"{torchvision.__version__.split('+')[0]}.")
print("#pragma once")
print('#include "framework/core/shape.h"\n')
print("#include <limits>\n#include <string_view>\n#include <vector>\n")
print("namespace learn::golden {\n")
print("inline constexpr double kInf = std::numeric_limits<double>::infinity();")
print("inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();\n")
print("struct OpTensor {\n  Shape shape;\n  std::vector<double> values;\n  bool whole_numbers = false;\n};\n")
print("struct OpValues {\n  std::string_view op;\n  std::vector<OpTensor> in;\n  OpTensor out;")
print("  std::vector<std::vector<double>> grads;  ///< of the first inputs; the others have none\n};\n")
print("inline const std::vector<OpValues> kOps{")
for name, inputs, out, grads in cases:
    print(f'    {{"{name}",\n     {{', end="")
    print(",\n      ".join("{" + shape(x) + ", " + numbers(x) + (", true" if x.dtype == torch.int64 else "") + "}" for x in inputs), end="")
    print("},\n     {" + shape(out) + ", " + numbers(out) + "},")
    print("     {" + ",\n      ".join(numbers(g) for g in grads) + "}},")
print("};\n\n}  // namespace learn::golden")
