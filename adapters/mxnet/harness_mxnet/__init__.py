"""MXNet adapter."""

import os

# Read when MXNet is loaded, which importing any module of this package does.
os.environ["MXNET_SUBGRAPH_VERBOSE"] = "0"

DTYPES = {"fp64": "float64", "fp32": "float32", "tf32": "float32"}
