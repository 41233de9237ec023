"""TensorFlow adapter."""

import os

# oneDNN reads it once, so it comes before TensorFlow; any other value lets float32 run in a smaller format.
os.environ["ONEDNN_DEFAULT_FPMATH_MODE"] = "STRICT"
