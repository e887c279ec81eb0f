#!/usr/bin/env python3
"""Writes optim_values.h: what PyTorch's optimizers and schedulers do step by step, and what fastai's formulas give.

    python3 tests/golden/make_optim.py       # needs torch and numpy; their versions go into the file

Weights and gradients are exact formulas (see `weights` and `gradients`), written again in C++ by the test.
"""
import math
import pathlib

import numpy as np
import torch

STEPS, SIZE = 12, 6


def weights():
    return [((i * 29) % 23 - 11) / 8 for i in range(SIZE)]


def gradients(step):
    return [((step * 37 + i * 101 + 17 * step * i) % 97 - 48) / 64 for i in range(SIZE)]


OPTIMIZERS = {
    "sgd": (torch.optim.SGD, dict(lr=0.05)),
    "sgd_momentum": (torch.optim.SGD, dict(lr=0.05, momentum=0.9)),
    "sgd_dampening": (torch.optim.SGD, dict(lr=0.05, momentum=0.9, dampening=0.3)),
    "sgd_nesterov_decay": (torch.optim.SGD, dict(lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.01)),
    "sgd_dampening_decay": (torch.optim.SGD, dict(lr=0.02, momentum=0.8, dampening=0.5, weight_decay=0.1)),
    "adam": (torch.optim.Adam, dict(lr=0.02)),
    "adam_fastai": (torch.optim.Adam, dict(lr=0.02, betas=(0.9, 0.99), eps=1e-5)),
    "adam_decay": (torch.optim.Adam, dict(lr=0.02, weight_decay=0.1)),
    "adamw": (torch.optim.AdamW, dict(lr=0.02, weight_decay=0.1)),
    "adamw_fastai": (torch.optim.AdamW, dict(lr=0.003, betas=(0.95, 0.99), eps=1e-5, weight_decay=0.01)),
    "rmsprop": (torch.optim.RMSprop, dict(lr=0.01)),
    "rmsprop_momentum": (torch.optim.RMSprop, dict(lr=0.01, alpha=0.9, momentum=0.9, weight_decay=0.05)),
    "rmsprop_centered": (torch.optim.RMSprop, dict(lr=0.01, centered=True)),
    "rmsprop_centered_momentum": (torch.optim.RMSprop, dict(lr=0.01, alpha=0.95, momentum=0.5, centered=True, eps=1e-5)),
}


def trajectory(make, options, frozen_until=0):
    """Weights after each step; without a gradient (so without a step of its own) before `frozen_until`."""
    weight = torch.nn.Parameter(torch.tensor(weights(), dtype=torch.float32))
    optimizer = make([weight], **options)
    rows = []
    for step in range(STEPS):
        weight.grad = None if step < frozen_until else torch.tensor(gradients(step), dtype=torch.float32)
        optimizer.step()
        rows.append([float(v) for v in weight.detach()])
    return rows


def torch_schedule(make, steps, lr=1.0, momentum=0.9):
    """Learning rate and momentum at each step of a torch scheduler."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=lr, momentum=momentum)
    scheduler = make(optimizer)
    lrs, momentums = [], []
    for _ in range(steps):
        lrs.append(optimizer.param_groups[0]["lr"])
        momentums.append(optimizer.param_groups[0]["momentum"])
        optimizer.step()
        scheduler.step()
    return lrs, momentums


def cos(start, end, t):
    return end + (start - end) / 2 * (math.cos(math.pi * t) + 1)


def fastai1_one_cycle(n, lr_max, linear_rise, pct=0.3, div=25.0, moms=(0.95, 0.85)):
    """fastai 1 (callbacks/one_cycle.py): phases of int(n * pct) and the remaining steps; dev_nb rises on a line."""
    a1 = int(n * pct)
    low, final = lr_max / div, lr_max / div / 1e4
    line = lambda s, e, t: s + (e - s) * t
    rise = line if linear_rise else cos
    lrs = [rise(low, lr_max, i / a1) for i in range(a1)] + [cos(lr_max, final, i / (n - a1)) for i in range(n - a1)]
    mom = [rise(*moms, i / a1) for i in range(a1)] + [cos(moms[1], moms[0], i / (n - a1)) for i in range(n - a1)]
    return lrs, mom


def combine_scheds(pcts, parts, t):
    """fastai 2 (callback/schedule.py, combine_scheds): the last part whose beginning has been reached."""
    edges = np.cumsum([0] + list(pcts))
    at = min(int(np.nonzero(t >= edges)[0].max()), len(parts) - 1)
    return parts[at]((t - edges[at]) / (edges[at + 1] - edges[at]))


def fastai2(pcts, parts, n):
    return [combine_scheds(pcts, parts, i / n) for i in range(n)]


def schedules():
    out = {}
    sched = torch.optim.lr_scheduler
    out["torch_one_cycle_lr"], out["torch_one_cycle_momentum"] = torch_schedule(
        lambda o: sched.OneCycleLR(o, max_lr=0.4, total_steps=41, pct_start=11 / 41, div_factor=25.0,
                                   final_div_factor=1e4), 41)
    out["torch_cosine"], _ = torch_schedule(lambda o: sched.CosineAnnealingLR(o, T_max=20, eta_min=0.01), 20)
    out["torch_warm_restarts"], _ = torch_schedule(
        lambda o: sched.CosineAnnealingWarmRestarts(o, T_0=4, T_mult=2, eta_min=0.001), 28)
    out["torch_polynomial"], _ = torch_schedule(lambda o: sched.PolynomialLR(o, total_iters=20, power=1.5), 20)
    out["torch_exponential"], _ = torch_schedule(lambda o: sched.ExponentialLR(o, gamma=0.8), 20)
    out["torch_linear"], _ = torch_schedule(
        lambda o: sched.LinearLR(o, start_factor=0.1, end_factor=1.0, total_iters=20), 20)
    out["torch_multi_step"], _ = torch_schedule(lambda o: sched.MultiStepLR(o, milestones=[5, 12], gamma=0.1), 20)
    out["fastai1_one_cycle_lr"], out["fastai1_one_cycle_momentum"] = fastai1_one_cycle(25, 0.1, False)
    out["dev_nb_one_cycle_lr"], out["dev_nb_one_cycle_momentum"] = fastai1_one_cycle(25, 0.1, True)
    lr, pct = 0.1, 0.25
    out["fastai2_one_cycle_lr"] = fastai2(
        [pct, 1 - pct], [lambda t: cos(lr / 25, lr, t), lambda t: cos(lr, lr / 1e5, t)], 30)
    out["fastai2_one_cycle_momentum"] = fastai2(
        [pct, 1 - pct], [lambda t: cos(0.95, 0.85, t), lambda t: cos(0.85, 0.95, t)], 30)
    out["fastai2_flat_cos"] = fastai2([0.75, 0.25], [lambda t: lr, lambda t: cos(lr, lr / 1e5, t)], 30)
    out["fastai2_sgdr"] = fastai2([1 / 7, 2 / 7, 4 / 7], [lambda t: cos(lr, 0, t)] * 3, 21)
    return out


def cpp_list(values, form):
    return "{" + ", ".join(form(v) for v in values) + "}"


def main():
    def f32(v):
        text = f"{v:.9g}"
        return text + ("F" if any(c in text for c in ".en") else ".0F")

    f64 = lambda v: f"{v:.17g}"
    lines = [
        f"// Written by make_optim.py with torch {torch.__version__} and numpy {np.__version__}; do not edit.",
        "#pragma once",
        "#include <map>",
        "#include <string>",
        "#include <vector>",
        "",
        "namespace learn::test::golden {",
        "",
        "/// Weights after each step.",
        "inline const std::map<std::string, std::vector<std::vector<float>>> kTrajectories = {",
    ]
    runs = {name: trajectory(*spec) for name, spec in OPTIMIZERS.items()}
    for name in ("sgd_dampening", "adam", "rmsprop_centered_momentum"):
        runs[name + "_unfrozen_at_4"] = trajectory(*OPTIMIZERS[name], frozen_until=4)
    for name, rows in runs.items():
        lines += [f'    {{"{name}",', "     {"]
        lines += [f"         {cpp_list(row, f32)}," for row in rows]
        lines += ["     }},"]
    lines += ["};", "", "/// Values at each step.",
              "inline const std::map<std::string, std::vector<double>> kSchedules = {"]
    for name, values in schedules().items():
        lines += [f'    {{"{name}",', "     {"]
        lines += [f"         {f64(v)}," for v in values]
        lines += ["     }},"]
    lines += ["};", "", "}  // namespace learn::test::golden", ""]
    pathlib.Path(__file__).with_name("optim_values.h").write_text("\n".join(lines))


if __name__ == "__main__":
    main()
