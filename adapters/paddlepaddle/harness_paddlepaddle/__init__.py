"""PaddlePaddle adapter."""

import os
import warnings

# Paddle warns of a missing ccache when it is loaded, and of running statistics at every training step.
warnings.filterwarnings("ignore", module="paddle")

# Both are read when Paddle is loaded, which importing any other module of this package does.
os.environ.update(
    GLOG_minloglevel="2",  # the interpreter of static programs logs each one
    NVIDIA_TF32_OVERRIDE="0",  # otherwise a GPU may run fp32 rows in TF32
)
