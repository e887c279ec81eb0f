"""How long a step should take on an H200, operation by operation: a roofline with latencies.

The constants are measurements and estimates for one H200 with the clocks it keeps under load (a copy of large arrays,
a large half-precision product, sequences of small kernels in a graph), of which no kernel of ours was part. Predicted
times are right to about 15 %, their ratios to about 10 %. A measured step that misses its prediction by more than that
says where to look: at the operations whose share is off.
"""
import math
from typing import NamedTuple

COPY_RATE = 4.3e12  # bytes/s that a copy of large arrays reads and writes together
KERNEL_SHARE = 0.83  # of it, in our kernels: what their loads in flight allow
CACHE_RATE = 5.0e12  # bytes/s if a launch moves less than CACHE_BYTES: the L2 cache holds it from the launch before
CACHE_BYTES = 20e6
# Bytes that one thread of our kernels has in flight, and s that they take: few blocks reach no more than that.
THREAD_BYTES, LATENCY = 32, 0.5e-6


class Arithmetic(NamedTuple):
    """How fast products and convolutions of one type are."""
    rate: float  # operations/s of a large product
    # Shares of that rate which convolutions reach, by the smaller of their channel counts: up to 64, up to 128, more.
    conv: tuple
    conv_weight: tuple


# Half precision on tensor cores, measured. f32, which does not use them (TF32 is off): 67e12 at the highest clock, reduced by the
# same share as half precision under load; estimated, as are its shares.
HALVES = Arithmetic(788e12, (0.45, 0.58, 0.66), (0.42, 0.55, 0.62))
ARITHMETIC = {"f16": HALVES, "bf16": HALVES, "f32": Arithmetic(54e12, (0.65, 0.72, 0.78), (0.62, 0.69, 0.75))}
GAP = 1.0e-6  # s between the end of a node of a graph and the start of the one that waits for it
KERNEL_LEAST = 2.0e-6  # s of the smallest kernel
COPY_LEAST = 2.5e-6  # s of the smallest copy or fill
# A product of few tiles: time to start and end, and per 64 terms of its sums, which one tile adds up one by one.
PRODUCT_LEAST, PRODUCT_SLICE = 2.0e-6, 0.13e-6
MOST_SLICES = 16  # of a weight's gradient, whose sums are split among tiles


class Operation(NamedTuple):
    """A node of the step's graph, as the survey of the fake CUDA runtime writes it."""
    name: str
    blocks: int
    threads: int
    read: int
    written: int
    operations: int

    @property
    def bytes(self):
        return self.read + self.written


class Sizes(NamedTuple):
    """A convolution of the libraries: "cudnn,forward,type=f16,n=64,h=32,c=8,k=64,r=3,stride=1,p=32"."""
    kind: str
    type: str
    n: int
    c: int
    k: int
    r: int
    p: int


def sizes_of(name):
    words = name.split(",")
    values = dict(word.split("=") for word in words if "=" in word)
    return Sizes(words[1], values["type"], *(int(values[key]) for key in "nckrp"))


def conv_seconds(operation):
    sizes = sizes_of(operation.name)
    row = 0 if min(sizes.c, sizes.k) <= 64 else 1 if min(sizes.c, sizes.k) <= 128 else 2
    arithmetic = ARITHMETIC[sizes.type]
    share = (arithmetic.conv_weight if sizes.kind == "weight" else arithmetic.conv)[row]
    terms = {"forward": sizes.c * sizes.r ** 2, "data": sizes.k * sizes.r ** 2, "weight": sizes.n * sizes.p ** 2}
    slices = math.ceil(terms[sizes.kind] / 64)
    latency = PRODUCT_LEAST + PRODUCT_SLICE * (min(slices, MOST_SLICES) if sizes.kind == "weight" else slices)
    return max(latency, operation.bytes / COPY_RATE, operation.operations / (arithmetic.rate * share))


def product_seconds(operation):
    values = dict(word.split("=") for word in operation.name.split(",")[1:])
    arithmetic, depth = ARITHMETIC[values["type"]], int(values["k"])
    latency = PRODUCT_LEAST + PRODUCT_SLICE * math.ceil(depth / 64)
    return max(latency, operation.bytes / COPY_RATE, operation.operations / (arithmetic.rate * arithmetic.conv[2]))


def seconds(operation):
    """Time of one node, with the gap after it."""
    if operation.name.startswith("cudnn,"):
        return GAP + conv_seconds(operation)
    if operation.name.startswith("cublas,"):
        return GAP + product_seconds(operation)
    rate = CACHE_RATE if operation.bytes < CACHE_BYTES else COPY_RATE * KERNEL_SHARE
    if operation.name in ("copy", "set"):
        return GAP + max(COPY_LEAST, operation.bytes / rate)
    rate = min(rate, operation.blocks * operation.threads * THREAD_BYTES / LATENCY)
    return GAP + max(KERNEL_LEAST, operation.bytes / rate)


def read_survey(path):
    with open(path) as lines:
        return [Operation(name, *map(int, numbers)) for name, *numbers in map(str.split, lines)]
