"""The neutral graph: what a model computes, with every shape, parameter and MAC count known before any framework is."""

import hashlib
import json
from collections import OrderedDict
from typing import Any, Dict, List, NamedTuple, Set, Tuple

from harness.core.errors import GeometryError, HarnessError
from harness.core.ops import OPS
from harness.core.ops.base import Shape


class TensorSpec(NamedTuple):
    """One graph input; ``shape`` is per sample.

    A "float" is a measurement. An "index" is a whole number with ``low <= index < high``; where ``length`` names another
    input, only that many of its positions count and the rest hold 0, the padding. A "length" says how many positions of a
    sequence count; its bounds are meant alike. Work is counted in the positions that count, where there are lengths.
    """

    name: str
    shape: Shape
    kind: str = "float"  # or "index" or "length"
    high: int = 0
    low: int = 0
    length: str = ""


class ParamSpec(NamedTuple):
    """One named parameter, in neutral layout."""

    name: str
    role: str
    shape: Shape
    trainable: bool
    fan_in: int

    @property
    def size(self) -> int:
        size = 1
        for length in self.shape:
            size *= length
        return size


class Node(NamedTuple):
    """One op applied. ``params`` maps the op's roles to parameter names; ``shape`` is the output's, per sample."""

    name: str
    op: str
    inputs: Tuple[str, ...]
    attrs: Dict[str, Any]
    params: Dict[str, str]
    shape: Shape


class Graph:
    """Nodes in an order that can be executed. ``outputs`` names what inference returns, ``loss`` the training loss."""

    def __init__(
        self,
        name: str,
        inputs: Tuple[TensorSpec, ...],
        nodes: Tuple[Node, ...],
        params: "OrderedDict[str, ParamSpec]",
        outputs: Tuple[str, ...],
        loss: str,
    ) -> None:
        self.name = name
        self.inputs = inputs
        self.nodes = nodes
        self.params = params
        self.outputs = outputs
        self.loss = loss

    @property
    def shapes(self) -> Dict[str, Shape]:
        """Shapes by tensor name, inputs included."""
        shapes = {spec.name: spec.shape for spec in self.inputs}
        shapes.update((node.name, node.shape) for node in self.nodes)
        return shapes

    def parameter_count(self) -> int:
        """Trainable parameters; running statistics are buffers and do not count, nor does what is frozen."""
        return sum(spec.size for spec in self.params.values() if spec.trainable)

    def buffer_count(self) -> int:
        return sum(spec.size for spec in self.params.values() if not spec.trainable)

    def macs(self) -> int:
        """Multiply-accumulates of one sample's forward pass: products of matrices and convolutions, without bias.

        Sequences count at their full length, padding included."""
        shapes = self.shapes
        return sum(OPS[n.op].macs(n.attrs, [shapes[i] for i in n.inputs], n.shape) for n in self.nodes)

    def consumers(self) -> Dict[str, int]:
        """How many readers each tensor has, an output counting as one. Tells an adapter what it may overwrite."""
        counts = {name: 0 for name in self.shapes}
        for node in self.nodes:
            for name in node.inputs:
                counts[name] += 1
        for name in self.outputs:
            counts[name] += 1
        return counts

    def for_inference(self) -> "Graph":
        """Return the part that the outputs need: no loss, no labels."""
        needed: Set[str] = set(self.outputs)
        for node in reversed(self.nodes):
            if node.name in needed:
                needed.update(node.inputs)
        nodes = tuple(node for node in self.nodes if node.name in needed)
        inputs = tuple(spec for spec in self.inputs if spec.name in needed)
        return Graph(self.name, inputs, nodes, self.params, self.outputs, "")

    def with_attrs(self, op: str, **attrs: Any) -> "Graph":
        """Return the graph with these attributes in every node of ``op``. They must not change shapes."""
        nodes = tuple(n._replace(attrs=dict(n.attrs, **attrs)) if n.op == op else n for n in self.nodes)
        return Graph(self.name, self.inputs, nodes, self.params, self.outputs, self.loss)

    def without_dropout(self) -> "Graph":
        """Return the graph with every drop rate at 0, which is where frameworks can be compared."""
        return self.with_attrs("dropout", rate=0.0)

    def fingerprint(self) -> str:
        """SHA-256 of everything that defines the graph."""
        text = json.dumps([self.name, self.inputs, self.nodes, list(self.params.values()), self.outputs, self.loss], sort_keys=True)
        return hashlib.sha256(text.encode("utf-8")).hexdigest()


class GraphBuilder:
    """Collects nodes; shapes and parameters follow from the ops, so a wrong model fails here and not in a framework."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._inputs: List[TensorSpec] = []
        self._nodes: List[Node] = []
        self._params: OrderedDict[str, ParamSpec] = OrderedDict()
        self._shapes: Dict[str, Shape] = {}

    def input(self, name: str, shape: Shape, kind: str = "float", high: int = 0, low: int = 0, length: str = "") -> str:
        """Declare an input and return its name."""
        self._claim(name)
        self._inputs.append(TensorSpec(name, shape, kind, high, low, length))
        self._shapes[name] = shape
        return name

    def add(self, op: str, name: str, *inputs: str, tied: str = "", **attrs: Any) -> str:
        """Append a node and return its name. Every attribute of the op must be given: geometry is explicit.

        ``tied`` names an earlier node whose parameters this one uses as well, instead of bringing its own.
        Raises ``GeometryError`` where an input is too small, ``HarnessError`` for any other mistake in the model.
        """
        self._claim(name)
        if op not in OPS:
            raise HarnessError("%s: node '%s': there is no op '%s'" % (self.name, name, op))
        spec = OPS[op]
        if set(attrs) != set(spec.attrs) or len(inputs) != len(spec.inputs):
            raise HarnessError("%s: node '%s': op %s wants inputs %s and attributes %s" % (self.name, name, op, spec.inputs, spec.attrs))
        shapes = [self.shape(tensor) for tensor in inputs]
        try:
            shape = spec.infer_shape(attrs, shapes)
        except (GeometryError, ValueError) as error:
            kind = GeometryError if isinstance(error, GeometryError) else HarnessError
            raise kind("%s: node '%s': %s" % (self.name, name, error))
        params = {}
        for role, size, trainable, fan_in in spec.params(attrs, shapes):
            param = ParamSpec("%s.%s" % (tied or name, role), role, size, trainable, fan_in)
            if tied and self._params.get(param.name) != param:
                raise HarnessError("%s: node '%s' cannot be tied to '%s', which has no such parameters" % (self.name, name, tied))
            params[role] = param.name
            self._params[param.name] = param
        self._nodes.append(Node(name, op, inputs, attrs, params, shape))
        self._shapes[name] = shape
        return name

    def _claim(self, name: str) -> None:
        if name in self._shapes:
            raise HarnessError("%s: two tensors are called '%s'" % (self.name, name))

    def shape(self, tensor: str) -> Shape:
        if tensor not in self._shapes:
            raise HarnessError("%s: there is no tensor '%s'" % (self.name, tensor))
        return self._shapes[tensor]

    def finish(self, outputs: Tuple[str, ...], loss: str, trained: Tuple[str, ...] = ()) -> Graph:
        """Return the graph. ``outputs`` and ``loss`` (empty for a graph that only infers) must have been added.

        ``trained`` names the only parameters that training changes; without it, all that their ops declare trainable.
        """
        for name in outputs + ((loss,) if loss else ()):
            self.shape(name)
        params = self._params
        if trained:
            params = OrderedDict((name, spec._replace(trainable=name in trained)) for name, spec in params.items())
        return Graph(self.name, tuple(self._inputs), tuple(self._nodes), params, outputs, loss)
