"""Seeded weights and batches, equal bit for bit on every numpy version and machine.

Only ``RandomState.random_sample`` and ``randint`` are drawn from: integers and one multiplication. Normal deviates pass
through the C library's log and sqrt, whose last bit differs between systems. Each array has a generator of its own,
seeded by its name, so nothing depends on order.
"""

import zlib
from typing import Dict, Tuple

import numpy as np

from harness.core.graph import Graph, ParamSpec
from harness.core.ops.base import Shape

Arrays = Dict[str, np.ndarray]
Range = Dict[str, Tuple[float, float]]

# Ranges of the uniform distribution by role. "init" is how training starts; "probe" leaves nothing at a neutral value
# (no zero bias, no unit statistics), so that an adapter that drops one of them cannot pass parity. Its BN output is
# mostly but not always positive: with a symmetric one, float32 rounding grows a hundredfold through ResNet-101. Its
# recurrent weights are large enough that gates open and close in a network a few units wide.
RANGES: Dict[str, Range] = {
    "init": {"bias": (0.0, 0.0), "gamma": (1.0, 1.0), "beta": (0.0, 0.0), "mean": (0.0, 0.0), "var": (1.0, 1.0)},
    "probe": {"bias": (-0.1, 0.1), "gamma": (0.3, 0.8), "beta": (0.0, 0.6), "mean": (-0.2, 0.2), "var": (0.7, 1.5)},
}
RANGES["init"].update({role: (-0.1, 0.1) for role in ("table", "query", "key", "vector")})
RANGES["init"]["value"] = (-20.0, 20.0)  # the image that generation starts from
RANGES["probe"].update({role: (-1.0, 1.0) for role in ("table", "query", "key", "vector", "value")}, scale=(0.5, 1.5))
for _direction in ("", "_reverse"):
    RANGES["init"].update({role + _direction: (-0.1, 0.1) for role in ("weight_ih", "weight_hh", "bias_ih")})
    RANGES["init"]["bias_hh" + _direction] = (0.0, 0.0)
    RANGES["probe"].update({role + _direction: (-0.5, 0.5) for role in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")})


def _random(name: str, seed: int) -> np.random.RandomState:
    return np.random.RandomState((zlib.crc32(name.encode("utf-8")) + seed) % 2**32)


def _uniform(name: str, seed: int, shape: Shape, low: float, high: float) -> np.ndarray:
    if low == high:
        return np.full(shape, low)
    values: np.ndarray = _random(name, seed).random_sample(shape)
    values *= high - low
    values += low
    return values


def _param(spec: ParamSpec, seed: int, kind: str) -> np.ndarray:
    if spec.role == "weight":
        bound = (6.0 / spec.fan_in) ** 0.5  # variance 2 / fan-in (He et al., arXiv 1502.01852): keeps ReLU nets in range
        return _uniform(spec.name, seed, spec.shape, -bound, bound)
    if spec.role == "scale" and kind == "init":
        return np.full(spec.shape, spec.fan_in**-0.5)  # as Bahdanau's attention is normalised in GNMT
    return _uniform(spec.name, seed, spec.shape, *RANGES[kind][spec.role])


def weights(graph: Graph, seed: int, kind: str = "init", dtype: str = "float32") -> Arrays:
    """Return every parameter of ``graph`` by name; ``kind`` is "init" (to train from) or "probe" (for parity)."""
    return {name: _param(spec, seed, kind).astype(dtype) for name, spec in graph.params.items()}


def batch(graph: Graph, size: int, seed: int, dtype: str = "float32") -> Arrays:
    """Return ``size`` samples for each input: floats uniform with unit variance, whole numbers within their bounds as int32."""
    arrays = {}
    for spec in graph.inputs:
        shape = (size,) + spec.shape
        if spec.kind == "float":
            arrays[spec.name] = _uniform(spec.name, seed, shape, -(3.0**0.5), 3.0**0.5).astype(dtype)
        else:
            arrays[spec.name] = _random(spec.name, seed).randint(spec.low, spec.high, size=shape).astype("int32")
    for spec in graph.inputs:
        if spec.length:
            arrays[spec.name][np.arange(spec.shape[0]) >= arrays[spec.length][:, None]] = 0
    return arrays


def work(graph: Graph, arrays: Arrays) -> int:
    """Return what one step on the batch ``arrays`` counts for: its samples, or where there are lengths, their sum."""
    lengths = [spec.name for spec in graph.inputs if spec.kind == "length"]
    return sum(int(arrays[name].sum()) for name in lengths) if lengths else len(next(iter(arrays.values())))
