"""The models of models/, layer by layer, in PyTorch."""
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


MODELS = {"darknet": darknet, "resnet9": resnet9, "resnet18": resnet18, "wrn_22": wrn_22}
