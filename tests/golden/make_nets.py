#!/usr/bin/env python3
"""Writes nets_{narrow,small,imagenet,airbench,full}.h: what PyTorch, in double precision, makes of the models.

    python3 tests/golden/make_nets.py [KIND...]  # needs torch and numpy; their versions go into the files

Weights and inputs are pure functions of names and element numbers (Philox4x32-10, as in
framework/core/random.h), so no weight file is needed: golden_nets.h has the same rules in C++. Weights are
taken in the order (K,R,S,C), which is how `learn` stores them.
"""
import pathlib
import sys

import numpy as np
import torch
from torch import nn

SEED, PURPOSE_TEST = 2026, 8
# `learn` holds these options as f32; in double the difference would show.
SLOPE, EPS, BN_MOMENTUM = (float(np.float32(v)) for v in (0.1, 1e-5, 0.1))
STEPS, LR, MOMENTUM, WEIGHT_DECAY = 10, 0.004, 0.9, 5e-4


def philox(counter, key):
    """Salmon et al. 2011; counter: four uint64 arrays holding 32-bit words; key: two ints."""
    low = np.uint64(0xFFFFFFFF)
    c = [np.asarray(v, np.uint64) for v in counter]
    k = list(key)
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(p1 >> np.uint64(32)) ^ c[1] ^ np.uint64(k[0]), p1 & low,
             (p0 >> np.uint64(32)) ^ c[3] ^ np.uint64(k[1]), p0 & low]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def name_stream(name):
    """FNV-1a, folded to 48 bits."""
    h = 0xCBF29CE484222325
    for byte in name.encode():
        h = ((h ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return (h ^ (h >> 48)) & 0xFFFFFFFFFFFF


def uniform(name, count):
    """`count` values in [0, 1) of 24 bits that belong to `name`."""
    element, stream = np.arange(count, dtype=np.uint64), name_stream(name)
    zero = np.zeros(count, np.uint64)
    words = philox([element, zero, zero + np.uint64(stream & 0xFFFFFFFF),
                    zero + np.uint64((PURPOSE_TEST << 16) | (stream >> 32))], (SEED, 0))
    return (words[0] >> np.uint64(8)).astype(np.float64) * 2.0**-24


def own_order(t):
    """(K,C,R,S) to (K,R,S,C); other tensors stay."""
    return t.permute(0, 2, 3, 1) if t.dim() == 4 else t


def initial(name, shape):
    """Initial value of a parameter of PyTorch's shape, rounded to f32."""
    u = uniform(name, int(np.prod(shape)))
    if len(shape) >= 2:
        v = (2 * u - 1) * np.sqrt(6.0 * shape[0] / u.size)
    else:
        v = u + 0.5 if name.endswith("weight") else u - 0.5
    v = v.astype(np.float32)
    if len(shape) == 4:
        k, c, r, s = shape
        return torch.from_numpy(v.reshape(k, r, s, c)).permute(0, 3, 1, 2).contiguous()
    return torch.from_numpy(v.reshape(shape))


def batch(number, size, pixels, classes):
    """Images in [-2, 2) and their classes."""
    x = (4 * uniform(f"x{number}", size * pixels * pixels * 3) - 2).astype(np.float32)
    y = np.floor(uniform(f"y{number}", size) * classes).astype(np.int64)
    x = torch.from_numpy(x.reshape(size, pixels, pixels, 3)).permute(0, 3, 1, 2).contiguous()
    return x, torch.from_numpy(y)


def batch_norm(nf):
    return nn.BatchNorm2d(nf, eps=EPS, momentum=BN_MOMENTUM)


def conv_layer(ni, nf, ks=3, stride=1):
    """fastai, nb_002b."""
    return nn.Sequential(nn.Conv2d(ni, nf, ks, bias=False, stride=stride, padding=ks // 2), batch_norm(nf),
                         nn.LeakyReLU(negative_slope=SLOPE))


class ResLayer(nn.Module):
    def __init__(self, ni):
        super().__init__()
        self.conv1, self.conv2 = conv_layer(ni, ni // 2, ks=1), conv_layer(ni // 2, ni, ks=3)

    def forward(self, x):
        return x + self.conv2(self.conv1(x))


class Darknet(nn.Module):
    def __init__(self, classes, nf):
        super().__init__()
        layers = [conv_layer(3, nf)]
        for i, blocks in enumerate([1, 2, 2, 2, 2]):
            layers += [conv_layer(nf, nf * 2, stride=2 - (i == 1))] + [ResLayer(nf * 2) for _ in range(blocks)]
            nf *= 2
        self.layers = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(nf, classes))

    def forward(self, x):
        return self.layers(x)


class ConvBn(nn.Module):
    def __init__(self, ni, nf):
        super().__init__()
        self.conv, self.bn = nn.Conv2d(ni, nf, 3, 1, 1, bias=False), batch_norm(nf)

    def forward(self, x):
        return torch.relu(self.bn(self.conv(x)))


class Residual(nn.Module):
    def __init__(self, nf):
        super().__init__()
        self.res1, self.res2 = ConvBn(nf, nf), ConvBn(nf, nf)

    def forward(self, x):
        return x + self.res2(self.res1(x))


class Layer(ConvBn):
    def __init__(self, ni, residual):
        super().__init__(ni, 2 * ni)
        if residual:
            self.residual = Residual(2 * ni)

    def forward(self, x):
        y = nn.functional.max_pool2d(super().forward(x), 2)
        return self.residual(y) if hasattr(self, "residual") else y


class ResNet9(nn.Module):
    """Page, DAWNBench 2018."""

    def __init__(self, classes, w):
        super().__init__()
        self.prep, self.layer1, self.layer2, self.layer3 = \
            ConvBn(3, w), Layer(w, True), Layer(2 * w, False), Layer(4 * w, True)
        self.linear = nn.Linear(8 * w, classes, bias=False)

    def forward(self, x):
        x = self.layer3(self.layer2(self.layer1(self.prep(x))))
        return self.linear(nn.functional.max_pool2d(x, x.shape[-1]).flatten(1)) * 0.125


def conv(ni, nf, ks, stride=1):
    return nn.Conv2d(ni, nf, ks, stride, ks // 2, bias=False)


class Block(nn.Module):
    """torchvision's BasicBlock, or its Bottleneck: `kernels` says which."""

    def __init__(self, ni, width, stride, kernels):
        super().__init__()
        nf = width * (4 if len(kernels) == 3 else 1)
        strided = kernels.index(3)  # ResNet 1.5: not the 1x1 convolution before it
        sizes = [ni] + [width] * (len(kernels) - 1) + [nf]
        self.count = len(kernels)
        for i, ks in enumerate(kernels):
            setattr(self, f"conv{i + 1}", conv(sizes[i], sizes[i + 1], ks, stride if i == strided else 1))
            setattr(self, f"bn{i + 1}", batch_norm(sizes[i + 1]))
        if stride != 1 or ni != nf:
            self.downsample = nn.Sequential(conv(ni, nf, 1, stride), batch_norm(nf))

    def forward(self, x):
        y = x
        for i in range(1, self.count + 1):
            y = getattr(self, f"bn{i}")(getattr(self, f"conv{i}")(y))
            if i < self.count:
                y = torch.relu(y)
        return torch.relu(y + (self.downsample(x) if hasattr(self, "downsample") else x))


class ResNet(nn.Module):
    """torchvision's, or with a stem for small images: one 3x3 convolution and no pool."""

    def __init__(self, classes, w, blocks, kernels, imagenet=False):
        super().__init__()
        self.conv1, self.bn1 = conv(3, w, 7, 2) if imagenet else conv(3, w, 3), batch_norm(w)
        self.maxpool = nn.MaxPool2d(3, 2, 1) if imagenet else nn.Identity()
        expansion, ni = 4 if len(kernels) == 3 else 1, w
        for stage, count in enumerate(blocks):
            layer = []
            for i in range(count):
                layer.append(Block(ni, w << stage, 2 if stage > 0 and i == 0 else 1, kernels))
                ni = (w << stage) * expansion
            setattr(self, f"layer{stage + 1}", nn.Sequential(*layer))
        self.fc = nn.Linear(ni, classes)

    def forward(self, x):
        x = self.maxpool(torch.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(x.mean((2, 3)))


class WideBlock(nn.Module):
    """fastai 1, vision/models/wrn.py."""

    def __init__(self, ni, nf, stride):
        super().__init__()
        self.bn, self.conv1 = batch_norm(ni), conv(ni, nf, 3, stride)
        self.conv2 = nn.Sequential(batch_norm(nf), nn.ReLU(), conv(nf, nf, 3))
        if ni != nf or stride != 1:
            self.shortcut = conv(ni, nf, 1, stride)

    def forward(self, x):
        x = torch.relu(self.bn(x))
        return 0.2 * self.conv2(self.conv1(x)) + (self.shortcut(x) if hasattr(self, "shortcut") else x)


def wide_resnet(classes, start, widen, groups, blocks):
    layers, ni = [conv(3, start, 3)], start
    for group in range(groups):
        for i in range(blocks):
            nf = start * widen << group
            layers.append(WideBlock(ni, nf, 2 if group > 0 and i == 0 else 1))
            ni = nf
    layers += [batch_norm(ni), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(ni, classes)]
    net = nn.Module()
    net.features = nn.Sequential(*layers)
    net.forward = net.features.forward
    return net


class Inverted(nn.Module):
    """torchvision's InvertedResidual."""

    def __init__(self, ni, nf, stride, expansion):
        super().__init__()
        inner, self.with_sum = ni * expansion, stride == 1 and ni == nf
        layers = [mobile_layer(ni, inner, 1)] if expansion > 1 else []
        self.conv = nn.Sequential(*layers, mobile_layer(inner, inner, 3, stride, inner), conv(inner, nf, 1), batch_norm(nf))

    def forward(self, x):
        return x + self.conv(x) if self.with_sum else self.conv(x)


def mobile_layer(ni, nf, ks, stride=1, groups=1):
    return nn.Sequential(nn.Conv2d(ni, nf, ks, stride, ks // 2, groups=groups, bias=False), batch_norm(nf), nn.ReLU6())


class MobileNetV2(nn.Module):
    """torchvision's of width 0.25, but for small images: the stem and the second stage keep their size."""

    def __init__(self, classes):
        super().__init__()
        ni, layers = 8, [mobile_layer(3, 8, 3)]
        for expansion, nf, count, stride in ((1, 8, 1, 1), (6, 8, 2, 1), (6, 8, 3, 2), (6, 16, 4, 2), (6, 24, 3, 1),
                                             (6, 40, 3, 2), (6, 80, 1, 1)):
            for i in range(count):
                layers.append(Inverted(ni, nf, stride if i == 0 else 1, expansion))
                ni = nf
        self.features = nn.Sequential(*layers, mobile_layer(ni, 1280, 1))
        self.classifier = nn.Sequential(nn.Dropout(0), nn.Linear(1280, classes))

    def forward(self, x):
        return self.classifier(self.features(x).mean((2, 3)))


class AirbenchLayer(nn.Module):
    """ConvGroup of airbench's scripts, the third convolution that of airbench96."""

    def __init__(self, ni, nf, residual):
        super().__init__()
        momentum = float(np.float32(0.1 if residual else 0.4))
        for i in range(3 if residual else 2):
            setattr(self, f"conv{i + 1}", conv(nf if i else ni, nf, 3))
            setattr(self, f"norm{i + 1}", nn.BatchNorm2d(nf, eps=float(np.float32(1e-12)), momentum=momentum))
            getattr(self, f"norm{i + 1}").weight.requires_grad = False

    def forward(self, x):
        gelu = nn.functional.gelu
        x = gelu(self.norm1(nn.functional.max_pool2d(self.conv1(x), 2)))
        y = gelu(self.norm2(self.conv2(x)))
        return gelu(self.norm3(self.conv3(y)) + x) if hasattr(self, "conv3") else y


class Airbench(nn.Module):
    def __init__(self, classes, widths, residual):
        super().__init__()
        self.whiten = nn.Conv2d(3, 24, 2)
        self.whiten.weight.requires_grad = False
        self.layer1, self.layer2, self.layer3 = (AirbenchLayer(ni, nf, residual) for ni, nf in zip([24, *widths], widths))
        self.linear = nn.Linear(widths[-1], classes, bias=False)

    def forward(self, x):
        x = self.layer3(self.layer2(self.layer1(nn.functional.gelu(self.whiten(x)))))
        return self.linear(nn.functional.max_pool2d(x, 3).flatten(1)) / 9


class Mlp(nn.Module):
    def __init__(self, classes, w):
        super().__init__()
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(3072, w), nn.ReLU(), nn.Linear(w, w), nn.ReLU(),
                                    nn.Linear(w, classes))

    def forward(self, x):
        return self.layers(x.permute(0, 2, 3, 1))  # pixels in the order of `learn`


def fresh(make, dtype):
    net = make().to(dtype)
    with torch.no_grad():
        for name, p in net.named_parameters():
            p.copy_(initial(name, tuple(p.shape)))
    return net


def digest(name, t):
    flat = own_order(t.detach()).reshape(-1).double().numpy()
    dots = [float(np.dot(flat, 2 * uniform(name + suffix, flat.size) - 1)) for suffix in ("/a", "/b")]
    return [float(np.linalg.norm(flat)), float(np.abs(flat).max())] + dots


def losses(net, batches, dtype):
    """Ten steps of SGD with momentum and weight decay, on the batches in turn."""
    optimizer = torch.optim.SGD(net.parameters(), LR, MOMENTUM, weight_decay=WEIGHT_DECAY)
    seen = []
    for step in range(STEPS):
        x, y = batches[step % len(batches)]
        loss = nn.functional.cross_entropy(net(x.to(dtype)), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen.append(float(loss))
    return seen


def numbers(values):
    return "{" + ", ".join(repr(float(v)) for v in values) + "}"


def write_net(out, name, make, width, size, classes):
    batches = [batch(i, size, 32, classes) for i in range(2)]
    net, single = fresh(make, torch.float64), fresh(make, torch.float32)
    x, y = batches[0]
    logits, logits32 = net(x.double()), single(x)
    loss = nn.functional.cross_entropy(logits, y)
    loss.backward()
    nn.functional.cross_entropy(logits32, y).backward()
    grad_error = max(float((a.grad - b.grad).norm() / a.grad.norm())
                     for a, b in zip(net.parameters(), single.parameters()) if a.requires_grad)
    ten = losses(fresh(make, torch.float64), batches, torch.float64)
    ten32 = losses(fresh(make, torch.float32), batches, torch.float32)
    out.append(f"// PyTorch's own f32 differs from this by {float((logits - logits32).abs().max()):.1e} in the logits, "
               f"{grad_error:.1e} of its norm\n// in the worst gradient, {max(abs(a - b) for a, b in zip(ten, ten32)):.1e} "
               "in the ten losses.")
    out.append(f"inline const GoldenNet k{name}{{\n  .width = {width}, .batch = {size}, .classes = {classes},\n"
               f"  .logits = {numbers(logits.reshape(-1))},\n  .loss = {float(loss)!r},\n  .gradients = {{")
    out += [f'    {{"{n}", {numbers(digest(n, p.grad))}}},' for n, p in net.named_parameters() if p.requires_grad]
    out.append("  },\n  .buffers = {")
    out += [f'    {{"{n}", {numbers(digest(n, b))}}},' for n, b in net.named_buffers() if not n.endswith("tracked")]
    out.append(f"  }},\n  .losses = {numbers(ten)},\n}};\n")


def write(kind, nets):
    out = ["#pragma once", f"// Made by make_nets.py with torch {torch.__version__}, numpy {np.__version__}. Do not edit.",
           '#include "tests/golden/golden_nets.h"', "", f"namespace learn::test::{kind} {{", ""]
    for net in nets:
        write_net(out, *net)
    out.append(f"}}  // namespace learn::test::{kind}")
    path = pathlib.Path(__file__).with_name(f"nets_{kind}.h")
    path.write_text("\n".join(out) + "\n")
    print(path.name, path.stat().st_size, "bytes")
    print("\n".join(line for line in out if line.startswith("// ")))


KINDS = {
    "narrow": [("Darknet", lambda: Darknet(2, 4), 4, 8, 2), ("ResNet9", lambda: ResNet9(10, 8), 8, 8, 10)],
    "small": [("BasicResNet", lambda: ResNet(5, 4, [1, 2, 1, 1], [3, 3]), 4, 4, 5),
              ("BottleneckResNet", lambda: ResNet(5, 2, [1, 2, 1, 1], [1, 3, 1]), 2, 4, 5),
              ("WideResNet", lambda: wide_resnet(5, 4, 2, 3, 2), 2, 4, 5), ("Mlp", lambda: Mlp(5, 8), 8, 4, 5)],
    "imagenet": [("ResNet", lambda: ResNet(5, 4, [1, 1, 1, 1], [3, 3], imagenet=True), 4, 8, 5),
                 ("MobileNetV2", lambda: MobileNetV2(5), 1, 4, 5)],
    "airbench": [("Airbench94", lambda: Airbench(5, [4, 16, 16], False), 4, 8, 5),
                 ("Airbench96", lambda: Airbench(5, [4, 12, 16], True), 4, 8, 5)],
    "full": [("Darknet", lambda: Darknet(2, 16), 16, 16, 2), ("ResNet9", lambda: ResNet9(10, 64), 64, 16, 10)],
}
torch.set_num_threads(1)
for kind in sys.argv[1:] or KINDS:
    write(kind, KINDS[kind])
