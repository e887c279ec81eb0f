#!/usr/bin/env python3
"""The same as bench_step, in PyTorch: one JSON object per run. torch_step.py MODEL BATCH THREADS SECONDS FORMAT

FORMAT is nchw or channels_last. The models are those of models/, layer by layer.
"""
import json
import statistics
import sys
import time

import torch
from torch import nn


class ConvBnAct(nn.Sequential):
    def __init__(self, inputs, outputs, kernel=3, stride=1, act=None, pool=False):
        layers = [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(outputs)]
        if act:
            layers.append(act)
        if pool:
            layers.append(nn.MaxPool2d(2))
        super().__init__(*layers)


class Residual(nn.Module):
    def __init__(self, *layers):
        super().__init__()
        self.body = nn.Sequential(*layers)

    def forward(self, x):
        return x + self.body(x)


class Scale(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x):
        return x * self.factor


def resnet9(w=64):
    def relu():
        return nn.ReLU(inplace=True)

    def res(c):
        return Residual(ConvBnAct(c, c, act=relu()), ConvBnAct(c, c, act=relu()))

    return nn.Sequential(
        ConvBnAct(3, w, act=relu()), ConvBnAct(w, 2 * w, act=relu(), pool=True), res(2 * w),
        ConvBnAct(2 * w, 4 * w, act=relu(), pool=True), ConvBnAct(4 * w, 8 * w, act=relu(), pool=True), res(8 * w),
        nn.MaxPool2d(4), nn.Flatten(), nn.Linear(8 * w, 10, bias=False), Scale(0.125))


class BasicBlock(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.body = nn.Sequential(ConvBnAct(inputs, outputs, stride=stride, act=nn.ReLU(inplace=True)),
                                  ConvBnAct(outputs, outputs))
        self.shortcut = nn.Sequential() if stride == 1 and inputs == outputs else ConvBnAct(inputs, outputs, 1, stride)

    def forward(self, x):
        return torch.relu(self.body(x) + self.shortcut(x))


def resnet18():
    layers, width = [ConvBnAct(3, 64, act=nn.ReLU(inplace=True))], 64
    for outputs, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [BasicBlock(width, outputs, stride), BasicBlock(outputs, outputs, 1)]
        width = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


def darknet(blocks=(1, 2, 2, 2, 2), nf=16):
    def conv(inputs, outputs, kernel=3, stride=1):
        return ConvBnAct(inputs, outputs, kernel, stride, act=nn.LeakyReLU(0.1, inplace=True))

    layers = [conv(3, nf)]
    for i, count in enumerate(blocks):
        layers.append(conv(nf, 2 * nf, stride=1 if i == 1 else 2))
        nf *= 2
        layers += [Residual(conv(nf, nf // 2, 1), conv(nf // 2, nf)) for _ in range(count)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(nf, 10))


def main():
    name, batch, threads, seconds, memory_format = (
        sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), sys.argv[5])
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    net = {"resnet9": resnet9, "resnet18": resnet18, "darknet": darknet}[name]().train()
    x, y = torch.rand(batch, 3, 32, 32), torch.arange(batch) % 10
    if memory_format == "channels_last":
        net, x = net.to(memory_format=torch.channels_last), x.contiguous(memory_format=torch.channels_last)
    sgd = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    loss_fn = nn.CrossEntropyLoss()

    def step():
        begin = time.perf_counter()
        sgd.zero_grad(set_to_none=True)
        loss_fn(net(x), y).backward()
        sgd.step()
        return time.perf_counter() - begin

    for _ in range(3):
        step()
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        times.append(step())
    print(json.dumps({"system": f"torch {torch.__version__} {memory_format}", "model": name, "batch": batch,
                      "precision": "fp32", "threads": threads,
                      "images_per_s": round(batch / statistics.median(times), 1), "best": round(batch / min(times), 1),
                      "worst": round(batch / max(times), 1), "steps": len(times)}))


main()
