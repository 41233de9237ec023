"""What every op says about itself."""

from typing import Any, Dict, List, NamedTuple, Tuple

import numpy as np

Shape = Tuple[int, ...]
Attrs = Dict[str, Any]
Arrays = Dict[str, np.ndarray]


class ParamDef(NamedTuple):
    """One parameter that a node brings. Fan-in is what initialisation scales by; 0 where it has no meaning."""

    role: str
    shape: Shape
    trainable: bool = True
    fan_in: int = 0


class Pass:
    """The state of one pass through a graph, shared by its ops.

    ``train`` selects batch statistics; ``biased_running_var`` the convention of the framework compared with.
    ``updates`` collects new running statistics by role-qualified key, ``relu_margin`` the smallest distance of a ReLU
    input from zero relative to the largest: small margins make float32 gradients of two right frameworks differ.
    """

    def __init__(self, train: bool, biased_running_var: bool = False) -> None:
        self.train = train
        self.biased_running_var = biased_running_var
        self.updates: Dict[Tuple[str, str], np.ndarray] = {}
        self.relu_margin = float("inf")


class Op:
    """An op: shapes are per sample (the batch axis is implied and comes first), attributes are explicit."""

    name = ""
    inputs: Tuple[str, ...] = ("x",)
    attrs: Tuple[str, ...] = ()

    def infer_shape(self, attrs: Attrs, shapes: List[Shape]) -> Shape:
        """Return the output shape; raise ``GeometryError`` where an input is too small."""
        raise NotImplementedError(self.name)

    def params(self, attrs: Attrs, shapes: List[Shape]) -> List[ParamDef]:
        """Return the parameters that a node of this op brings."""
        return []

    def macs(self, attrs: Attrs, shapes: List[Shape], out: Shape) -> int:
        """Return the multiply-accumulates of one sample's forward pass; only products of matrices and convolutions count."""
        return 0

    def forward(self, node: str, attrs: Attrs, xs: List[np.ndarray], params: Arrays, run: Pass) -> Tuple[np.ndarray, Any]:
        """Return the output and whatever ``backward`` wants to remember."""
        raise NotImplementedError(self.name)

    def backward(self, attrs: Attrs, saved: Any, grad: np.ndarray) -> Tuple[List[Any], Arrays]:
        """Return gradients for each input (None for labels) and for each trainable parameter by role."""
        raise NotImplementedError(self.name)
