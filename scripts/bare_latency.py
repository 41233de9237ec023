"""Latency of a ResNet in plain PyTorch, by the method of DEEP-GAP's published code and nothing of this project: what the harness's own
numbers are held against. Run by scripts/bare-latency in the harness's PyTorch environment.

    python bare_latency.py resnet18|resnet50 BATCH float32|bfloat16 THREADS

Each line on standard input asks for one repeat: 20 forward passes of warm-up, 100 timed one by one. A line of JSON answers.
"""

import json
import statistics
import sys
import time

import torch
from torch import nn

PLANS = {"resnet18": (1, (2, 2, 2, 2)), "resnet50": (4, (3, 4, 6, 3))}  # expansion, and blocks by stage
WARM_UP, TIMED = 20, 100


class Block(nn.Module):
    """A basic block of two 3x3 convolutions, or with expansion a bottleneck of 1x1, 3x3 and 1x1."""

    def __init__(self, inputs, width, expansion, stride):
        super().__init__()
        outputs = width * expansion
        if expansion == 1:
            layers = [(inputs, width, 3, stride), (width, width, 3, 1)]
        else:
            layers = [(inputs, width, 1, 1), (width, width, 3, stride), (width, outputs, 1, 1)]
        self.convs = nn.ModuleList(nn.Conv2d(i, o, k, s, k // 2, bias=False) for i, o, k, s in layers)
        self.norms = nn.ModuleList(nn.BatchNorm2d(o) for _, o, _, _ in layers)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = x
        for number, (conv, norm) in enumerate(zip(self.convs, self.norms, strict=True)):
            y = norm(conv(y))
            if number < len(self.convs) - 1:
                y = self.relu(y)
        y += self.shortcut(x)
        return self.relu(y)


def resnet(name):
    expansion, stages = PLANS[name]
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    inputs = 64
    for stage, count in enumerate(stages):
        for index in range(count):
            width = 64 * 2**stage
            layers.append(Block(inputs, width, expansion, 2 if stage and not index else 1))
            inputs = width * expansion
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 1000))


def main():
    name, batch, dtype, threads = sys.argv[1], int(sys.argv[2]), getattr(torch, sys.argv[3]), int(sys.argv[4])
    torch.set_num_interop_threads(1)
    torch.set_num_threads(threads)
    torch.ones(2**25 - 2**16, dtype=torch.uint8)  # freed at once: the state of glibc's allocator that the harness's workers are in
    # Channels last, which the published code leaves out: the harness uses it, and timing is what is compared here.
    model = resnet(name).eval().to(dtype).to(memory_format=torch.channels_last)
    images = torch.randn(batch, 3, 224, 224).to(dtype).contiguous(memory_format=torch.channels_last)
    with torch.inference_mode():
        for _ in sys.stdin:
            for _ in range(WARM_UP):
                model(images)
            seconds = []
            for _ in range(TIMED):
                start = time.perf_counter()
                model(images)
                seconds.append(time.perf_counter() - start)
            answer = {"median": statistics.median(seconds), "throughput": TIMED * batch / sum(seconds)}
            print(json.dumps(answer), flush=True)


main()
