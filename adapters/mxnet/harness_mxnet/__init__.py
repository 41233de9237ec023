"""MXNet adapter."""

import os

# Both are read when MXNet is loaded, which importing any module of this package does.
os.environ["MXNET_SUBGRAPH_VERBOSE"] = "0"
os.environ["NVIDIA_TF32_OVERRIDE"] = "0"  # otherwise a GPU may run fp32 rows in TF32

DTYPES = {"fp64": "float64", "fp32": "float32"}
