#!/usr/bin/env python3
"""Writes lr_suggestions.h: sweeps' curves, and what fastai's own functions suggest of them.

    make_lr_suggestions.py >tests/golden/lr_suggestions.h

Needs fastai and PyTorch; the versions stand in the file."""
import math
import random

import fastai
import torch
from fastai.callback.schedule import minimum, slide, steep, valley
from torch import tensor


def curve(kind, count, seed):
    rng = random.Random(seed)
    lrs, losses, mean = [], [], 0.0
    for i in range(count):
        lr = 1e-7 * 1e8 ** (i / 100)
        x = math.log10(lr)
        loss = 2.3 - 1.2 / (1 + math.exp(-3 * (x + 2.5))) + (0.02 * 10 ** (2 * (x + 0.6)) if x > -2 else 0)
        if kind == "noisy":
            loss += rng.gauss(0, 0.15)
        if kind == "falling":
            loss = 3 - 0.02 * i
        if kind == "rising":
            loss = 1 + 0.001 * i * i
        if kind == "nan" and i > 70:
            loss = math.nan
        mean = 0.98 * mean + 0.02 * loss
        lrs.append(lr)
        losses.append(mean / (1 - 0.98 ** (i + 1)))
    return lrs, losses


def numbers(values):
    lines, line = [], ""
    for v in values:
        text = "kNaN" if math.isnan(v) else repr(float(tensor(v)))
        if len(line) + len(text) > 90:
            lines.append(line.rstrip())
            line = ""
        line += text + ", "
    lines.append(line.rstrip().rstrip(","))
    return "{" + "\n      ".join(lines) + "}"


print(f"""// Written by make_lr_suggestions.py with fastai {fastai.__version__} and PyTorch {torch.__version__}.
#pragma once
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace golden {{

struct LrCurve {{
  std::string name;
  std::int64_t iterations;
  std::vector<double> lrs, losses;
  std::array<double, 4> suggested;  // valley, slide, minimum, steep
}};

// clang-format off
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline const std::vector<LrCurve> kLrCurves{{""")
for kind, count, seed in (("smooth", 100, 1), ("noisy", 100, 2), ("noisy", 100, 3), ("noisy", 90, 4), ("falling", 60, 5),
                          ("rising", 60, 6), ("nan", 100, 7)):
    lrs, losses = curve(kind, count, seed)
    a, b = tensor(lrs[10:-5]), tensor(losses[10:-5])
    nans = torch.nonzero(torch.isnan(b.view(-1)))
    if len(nans) > 0:
        a, b = a[:min(nans)], b[:min(nans)]
    found = [float(f(a, b, 100)[0]) for f in (valley, slide, minimum, steep)]
    print(f'  {{"{kind} {seed}", 100,\n     {numbers(lrs)},\n     {numbers(losses)},\n     {numbers(found)}}},')
print("""};
// clang-format on

}  // namespace golden""")
