"""The models of models/, layer by layer, in PyTorch."""
import functools

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
        return torch.relu_(self.body(x).add_(self.shortcut(x)))


class Bottleneck(BasicBlock):
    def __init__(self, inputs, outputs, stride):
        super().__init__(inputs, outputs, stride)
        width = outputs // 4
        self.body = nn.Sequential(ConvBnAct(inputs, width, 1, act=nn.ReLU(inplace=True)),
                                  ConvBnAct(width, width, 3, stride, nn.ReLU(inplace=True)), ConvBnAct(width, outputs, 1))


def resnet(block, counts, expansion=1, imagenet=False):
    layers, width = [ConvBnAct(3, 64, 7 if imagenet else 3, 2 if imagenet else 1, nn.ReLU(inplace=True))], 64
    if imagenet:
        layers.append(nn.MaxPool2d(3, 2, 1))
    for stage, count in enumerate(counts):
        for i in range(count):
            outputs = (64 << stage) * expansion
            layers.append(block(width, outputs, 2 if stage > 0 and i == 0 else 1))
            width = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 10))


def resnet18(imagenet=False):
    return resnet(BasicBlock, (2, 2, 2, 2), imagenet=imagenet)


def resnet50(imagenet=False):
    return resnet(Bottleneck, (3, 4, 6, 3), 4, imagenet)


class Inverted(nn.Module):
    def __init__(self, inputs, outputs, stride, expansion):
        super().__init__()
        inner, self.with_sum = inputs * expansion, stride == 1 and inputs == outputs
        layers = [ConvBnAct(inputs, inner, 1, act=nn.ReLU6(inplace=True))] if expansion > 1 else []
        depthwise = nn.Conv2d(inner, inner, 3, stride, 1, groups=inner, bias=False)
        self.body = nn.Sequential(*layers, depthwise, nn.BatchNorm2d(inner), nn.ReLU6(inplace=True), ConvBnAct(inner, outputs, 1))

    def forward(self, x):
        return self.body(x).add_(x) if self.with_sum else self.body(x)


def mobilenet_v2(imagenet=False):
    def act():
        return nn.ReLU6(inplace=True)

    halved = 2 if imagenet else 1
    layers, width = [ConvBnAct(3, 32, 3, halved, act())], 32
    for expansion, outputs, count, stride in ((1, 16, 1, 1), (6, 24, 2, halved), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                              (6, 160, 3, 2), (6, 320, 1, 1)):
        for i in range(count):
            layers.append(Inverted(width, outputs, stride if i == 0 else 1, expansion))
            width = outputs
    return nn.Sequential(*layers, ConvBnAct(width, 1280, 1, act=act()), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(1280, 10))


def darknet(blocks=(1, 2, 2, 2, 2), nf=16):
    def conv(inputs, outputs, kernel=3, stride=1):
        return ConvBnAct(inputs, outputs, kernel, stride, act=nn.LeakyReLU(0.1, inplace=True))

    layers = [conv(3, nf)]
    for i, count in enumerate(blocks):
        layers.append(conv(nf, 2 * nf, stride=1 if i == 1 else 2))
        nf *= 2
        layers += [Residual(conv(nf, nf // 2, 1), conv(nf // 2, nf)) for _ in range(count)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(nf, 10))


class WideBlock(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.bn = nn.BatchNorm2d(inputs)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.shortcut = nn.Sequential() if stride == 1 and inputs == outputs else \
            nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, x):
        x = torch.relu_(self.bn(x))
        y = self.conv2(torch.relu_(self.bn2(self.conv1(x))))
        return y * 0.2 + self.shortcut(x)


def wrn_22(groups=3, blocks=3, widen=6, start=16):
    layers, inputs = [nn.Conv2d(3, start, 3, 1, 1, bias=False)], start
    for group in range(groups):
        outputs = start * widen << group
        for i in range(blocks):
            layers.append(WideBlock(inputs, outputs, 2 if i == 0 and group > 0 else 1))
            inputs = outputs
    return nn.Sequential(*layers, nn.BatchNorm2d(inputs), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(inputs, 10))


RESIDUAL = {"resnet18": resnet18, "resnet50": resnet50, "mobilenet_v2": mobilenet_v2}
MODELS = {"darknet": darknet, "resnet9": resnet9, "wrn_22": wrn_22, **RESIDUAL,
          **{f"{name}:stem=imagenet": functools.partial(make, imagenet=True) for name, make in RESIDUAL.items()}}
