"""CNTK adapter."""

import warnings

# CNTK warns at import of any Linux but Ubuntu 16.04 and of missing CUDA libraries, which its CPU build does not want.
warnings.filterwarnings("ignore", module="cntk.cntk_py_init")
