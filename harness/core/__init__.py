"""The measured side: everything that runs inside a framework's own environment.

Python 3.6 syntax; imports only the standard library, numpy and pluggy. It knows no adapter and nothing of the host.
Adapters import what they need from here::

    from harness.core import BuildRequest, Graph, Node, Unsupported, hookimpl
"""

from harness.core.errors import GeometryError, HarnessError, Unsupported
from harness.core.graph import Graph, GraphBuilder, Node, ParamSpec, TensorSpec
from harness.core.hookspecs import BuildRequest, Optimizer, hookimpl

__all__ = [
    "BuildRequest",
    "GeometryError",
    "Graph",
    "GraphBuilder",
    "HarnessError",
    "Node",
    "Optimizer",
    "ParamSpec",
    "TensorSpec",
    "Unsupported",
    "hookimpl",
]
