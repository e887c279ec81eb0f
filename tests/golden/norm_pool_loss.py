#!/usr/bin/env python3
"""Writes norm_pool_loss.h: what PyTorch computes for batch norm, pools and losses, in float64.

    python3 tests/golden/norm_pool_loss.py > tests/golden/norm_pool_loss.h

Activations are drawn and printed as (N,H,W,C) and handed to PyTorch as (N,C,H,W).
"""
import torch
import torch.nn.functional as F

torch.manual_seed(7)
torch.set_default_dtype(torch.float64)


def show(name, tensor, nhwc=False):
    name = "".join(word[0].upper() + word[1:] for word in name.split("_"))
    if nhwc:
        tensor = tensor.permute(0, 2, 3, 1)
    values = [repr(v) for v in tensor.detach().reshape(-1).tolist()]
    print(f"inline const std::vector<double> k{name}{{")
    for i in range(0, len(values), 4):
        print("    " + ", ".join(values[i : i + 4]) + ",")
    print("};")


def nchw(tensor):
    return tensor.permute(0, 3, 1, 2).contiguous().requires_grad_()


def batch_norm():
    shape, channels, batches = (2, 2, 3, 4), 4, 3
    x = torch.randn(batches, *shape) * 2 + torch.tensor([0.0, 1.0, -3.0, 10.0])
    residual, dy = torch.randn(shape), torch.randn(shape)
    weight, bias = torch.rand(channels) + 0.5, torch.randn(channels)
    norm = torch.nn.BatchNorm2d(channels, momentum=0.125)  # exact in float32 too, as 0.125 below
    norm.weight.data, norm.bias.data = weight.clone(), bias.clone()
    for name, value in [("x", x), ("residual", residual), ("dy", dy), ("weight", weight), ("bias", bias)]:
        show(f"norm_{name}", value)
    for batch in range(batches):
        norm.zero_grad()
        inputs, skip = nchw(x[batch]), nchw(residual)
        y = F.relu(norm(inputs) + skip)
        y.backward(nchw(dy).detach())
    show("norm_y", y, True)
    show("norm_dx", inputs.grad, True)
    show("norm_dresidual", skip.grad, True)
    show("norm_dweight", norm.weight.grad)
    show("norm_dbias", norm.bias.grad)
    show("norm_running_mean", norm.running_mean)
    show("norm_running_var", norm.running_var)
    norm.eval()
    norm.zero_grad()
    inputs = nchw(x[0])
    y = F.leaky_relu(norm(inputs), 0.125)
    y.backward(nchw(dy).detach())
    show("norm_eval_y", y, True)
    show("norm_eval_dx", inputs.grad, True)
    show("norm_eval_dweight", norm.weight.grad)


def pools():
    x = torch.randn(1, 5, 6, 2)
    show("pool_x", x)
    dy = torch.randn(1, 3, 3, 2)
    show("pool_dy", dy)
    for name, pool in [
        ("max", lambda t: F.max_pool2d(t, 3, 2, 1)),
        ("avg_padded", lambda t: F.avg_pool2d(t, 3, 2, 1, count_include_pad=True)),
        ("avg_inside", lambda t: F.avg_pool2d(t, 3, 2, 1, count_include_pad=False)),
    ]:
        inputs = nchw(x)
        y = pool(inputs)
        y.backward(nchw(dy).detach())
        show(f"pool_{name}_y", y, True)
        show(f"pool_{name}_dx", inputs.grad, True)


def losses():
    logits = torch.randn(4, 5) * 3
    labels = torch.tensor([2, 0, 4, 4])
    soft = torch.softmax(torch.randn(4, 5), 1)
    show("loss_logits", logits)
    show("loss_labels", labels.double())
    show("loss_soft", soft)
    for name, target, smoothing in [
        ("labels_0", labels, 0.0),
        ("labels_125", labels, 0.125),
        ("soft_0", soft, 0.0),
        ("soft_125", soft, 0.125),
    ]:
        inputs = logits.clone().requires_grad_()
        loss = F.cross_entropy(inputs, target, label_smoothing=smoothing)
        loss.backward()
        show(f"loss_{name}", loss)
        show(f"loss_{name}_dlogits", inputs.grad)
    show("loss_softmax", torch.softmax(logits, 1))
    inputs = logits.clone().requires_grad_()
    loss = F.mse_loss(inputs, soft)
    loss.backward()
    show("loss_mse", loss)
    show("loss_mse_dpred", inputs.grad)


print("#pragma once")
print(f"// Made by norm_pool_loss.py with PyTorch {torch.__version__}; do not edit.")
print("#include <vector>\n")
print("namespace learn::test::golden {\n")
batch_norm()
pools()
losses()
print("\n}  // namespace learn::test::golden")
