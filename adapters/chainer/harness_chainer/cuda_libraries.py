"""CUDA's libraries as packages of PyPI, which CuPy does not find by itself but takes where they are loaded already."""

import ctypes
import importlib.util
import os

# In an order in which each finds those that it needs.
LIBRARIES = (
    "cuda_runtime/lib/libcudart.so.12",
    "cuda_nvrtc/lib/libnvrtc.so.12",
    "nvjitlink/lib/libnvJitLink.so.12",
    "cublas/lib/libcublasLt.so.12",
    "cublas/lib/libcublas.so.12",
    "cufft/lib/libcufft.so.11",
    "curand/lib/libcurand.so.10",
    "cusparse/lib/libcusparse.so.12",
    "cusolver/lib/libcusolver.so.11",
    "cudnn/lib/libcudnn.so.8",
    "nccl/lib/libnccl.so.2",
)


def load() -> None:
    """Load what is installed: nothing in an environment for CPUs, or where the system has CUDA."""
    spec = importlib.util.find_spec("nvidia")
    for folder in spec.submodule_search_locations or () if spec else ():
        for name in LIBRARIES:
            path = os.path.join(folder, name)
            if os.path.exists(path):
                ctypes.CDLL(path)
