"""Chainer adapter."""

import os

from harness_chainer import cuda_libraries

# Read when Chainer is loaded: it warns of every CuPy that is younger than itself.
os.environ["CHAINER_WARN_VERSION_MISMATCH"] = "0"
cuda_libraries.load()
