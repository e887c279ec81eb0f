#!/usr/bin/env python3
"""Writes lr_sweep.h: what fastai's own Learner.lr_find makes of the tiny training of the tests, of the same weights, data
and optimizers (tests/learner/tiny_training.h).

    make_lr_sweep.py >tests/golden/lr_sweep.h

Needs fastai and PyTorch; the versions stand in the file."""
import math
import tempfile
from functools import partial

import fastai
import torch
from fastai.callback.schedule import minimum, slide, steep, valley
from fastai.data.core import DataLoaders
from fastai.learner import Learner
from fastai.optimizer import SGD, Adam
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FEATURES, SAMPLES = 3, 8


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.full((FEATURES,), 0.5))
        self.gain = nn.Parameter(torch.ones(FEATURES))

    def forward(self, x):
        return x * self.weight * self.gain


def loss(pred, target):
    return 0.5 * (pred - target).pow(2).sum() / pred.shape[0]


def numbers(values):
    lines, line = [], ""
    for v in values:
        text = repr(float(v))
        if len(line) + len(text) > 90:
            lines.append(line.rstrip())
            line = ""
        line += text + ", "
    lines.append(line.rstrip().rstrip(","))
    return "{" + "\n      ".join(lines) + "}"


def sweep(optimizer):
    # Batch after batch of two, as tiny::Data: the phase of a value is that of its batch's first sample and its place.
    x, y = [], []
    for sample in range(0, SAMPLES, 2):
        for i in range(2 * FEATURES):
            x.append(math.sin(1 + sample * FEATURES + i))
            y.append(math.cos(2 + sample * FEATURES + i))
    data = TensorDataset(torch.tensor(x).view(SAMPLES, FEATURES), torch.tensor(y).view(SAMPLES, FEATURES))
    loader = DataLoader(data, batch_size=2)
    with tempfile.TemporaryDirectory() as folder:
        learn = Learner(DataLoaders(loader, loader), Scale(), loss_func=loss, opt_func=optimizer, path=folder)
        with learn.no_bar():
            found = learn.lr_find(suggest_funcs=(valley, slide, minimum, steep), show_plot=False)
    return [float(v) for v in learn.recorder.lrs], [float(v) for v in learn.recorder.losses], list(found)


print(f"""// Written by make_lr_sweep.py with fastai {fastai.__version__} and PyTorch {torch.__version__}.
#pragma once
#include <array>
#include <string>
#include <vector>

namespace golden {{

struct LrSweep {{
  std::string name;
  std::vector<double> lrs, losses;  // of each update, smoothed
  std::array<double, 4> suggested;  // valley, slide, minimum, steep
}};

// clang-format off
inline const std::vector<LrSweep> kLrSweeps{{""")
for name, optimizer in (("sgd", partial(SGD, mom=0.9)), ("adam", partial(Adam, mom=0.9, sqr_mom=0.99, eps=1e-5, wd=0.0))):
    lrs, losses, found = sweep(optimizer)
    print(f'  {{"{name}",\n     {numbers(lrs)},\n     {numbers(losses)},\n     {numbers(found)}}},')
print("""};
// clang-format on

}  // namespace golden""")
