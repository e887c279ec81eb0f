#!/usr/bin/env python3
"""Writes amp_traces.h: how the loss scale of torch.amp.GradScaler and of apex moves over a training with overflows, step by step,
with the unscaled gradients and the weights.

    python3 tests/golden/make_amp.py APEX >tests/golden/amp_traces.h

APEX is a checkout of github.com/NVIDIA/apex at cb65b8ed^, the last commit that has apex.amp. Needs torch 2.3 or later.
Weights and gradients are exact formulas, written again in C++ by the test.
"""
import importlib
import pathlib
import sys
import types

import torch

STEPS, SIZE = 24, 4
OVERFLOWS = (0, 3, 4, 11, 17, 18, 19)


def weights():
    return [((i * 29) % 23 - 11) / 8 for i in range(SIZE)]


def gradients(step):
    return [((step * 37 + i * 101 + 17 * step * i) % 97 - 48) / 64 for i in range(SIZE)]


def injected(step, scale):
    """The gradient of the scaled loss; at some steps one element of it is too large."""
    scaled = [g * scale for g in gradients(step)]
    if step in OVERFLOWS:
        scaled[step % SIZE] = float("inf") if step % 2 else float("nan")
    return torch.tensor(scaled, dtype=torch.float32)


def sgd():
    weight = torch.nn.Parameter(torch.tensor(weights(), dtype=torch.float32))
    return weight, torch.optim.SGD([weight], lr=0.05, momentum=0.9)


def row(scale, skipped, unscaled, weight):
    finite = [0.0 if skipped else float(g) for g in unscaled]
    return [scale, float(skipped), *finite, *[float(w) for w in weight.detach()]]


def torch_trace(**options):
    """Per step: the scale after it, whether it was skipped, the unscaled gradients (0 in a skipped one), the weights."""
    weight, optimizer = sgd()
    scaler = torch.amp.GradScaler("cpu", **options)
    scaler.scale(torch.ones(1))  # which makes the scale
    rows = []
    for step in range(STEPS):
        weight.grad = injected(step, scaler.get_scale())
        scaler.unscale_(optimizer)
        unscaled, skipped = weight.grad.clone(), step in OVERFLOWS
        before = weight.detach().clone()
        scaler.step(optimizer)
        assert torch.equal(before, weight) == skipped
        scaler.update()
        rows.append(row(scaler.get_scale(), skipped, unscaled, weight))
    return rows


def apex_scaler(root):
    """apex/amp/scaler.py alone: the package around it needs CUDA."""
    torch.cuda.IntTensor = torch.IntTensor
    for name in ("apex", "apex.amp", "apex.multi_tensor_apply"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules["apex"].__path__ = [str(root / "apex")]
    sys.modules["apex.amp"].__path__ = [str(root / "apex" / "amp")]
    sys.modules["apex.multi_tensor_apply"].multi_tensor_applier = types.SimpleNamespace(available=False, import_err=None)
    module = importlib.import_module("apex.amp.scaler")
    module.maybe_print = lambda *_: None
    return module.LossScaler


def apex_trace(scaler_class, **options):
    """The same; in apex's loop a scaler unscales when the loss's context ends, and the optimizer's step is left out."""
    weight, optimizer = sgd()
    scaler = scaler_class("dynamic", **options)
    rows = []
    for step in range(STEPS):
        scaler.clear_overflow_state()
        model_grad = injected(step, scaler.loss_scale())
        weight.grad = torch.zeros(SIZE)
        scaler.unscale([model_grad], [weight.grad], None)
        unscaled = weight.grad.clone()
        skipped = scaler.update_scale()
        assert skipped == (step in OVERFLOWS)
        if not skipped:
            optimizer.step()
        rows.append(row(scaler.loss_scale(), skipped, unscaled, weight))
    return rows


def hysteresis_trace(scale, growth_interval, hysteresis):
    """The scale alone, by apex's csrc/update_scale_hysteresis.cu, which runs on a GPU only: the same lines."""
    growth_tracker, hysteresis_tracker, scales = 0, hysteresis, []
    for step in range(STEPS):
        found_inf = step in OVERFLOWS
        if found_inf:
            hysteresis_tracker -= 1
            if hysteresis_tracker > 0:
                growth_tracker = 0
                scales.append(scale)
                continue
            scale, growth_tracker = scale * 0.5, 0
        else:
            growth_tracker += 1
            if growth_tracker == growth_interval:
                scale, growth_tracker = scale * 2, 0
            hysteresis_tracker = hysteresis
        scales.append(scale)
    return scales


def number(value):
    return repr(value).replace("inf", "kInf")


def table(name, rows):
    print(f"inline constexpr double {name}[{len(rows)}][{len(rows[0])}] = {{")
    for values in rows:
        print("    {" + ", ".join(number(v) for v in values) + "},")
    print("};\n")


def main():
    print(f"// Made by make_amp.py with PyTorch {torch.__version__.split('+')[0]} and apex at cb65b8ed^.")
    print("#pragma once\n\nnamespace learn::golden {\n")
    print(f"inline constexpr int kAmpOverflows[] = {{{', '.join(map(str, OVERFLOWS))}}};\n")
    print("// A row per step: scale after it, skipped, unscaled gradients (0 in a skipped step), weights.")
    table("kTorchGradScaler", torch_trace(init_scale=1024.0, growth_interval=3))
    table("kTorchGradScalerFactors", torch_trace(init_scale=64.0, growth_factor=4.0, backoff_factor=0.25, growth_interval=2))
    scaler = apex_scaler(pathlib.Path(sys.argv[1]))
    table("kApexScaler", apex_trace(scaler, init_scale=1024.0, scale_window=3, min_loss_scale=256.0, max_loss_scale=2048.0))
    table("kApexHysteresis", [[s] for s in hysteresis_trace(1024.0, 3, 2)])
    print("}  // namespace learn::golden")


main()
