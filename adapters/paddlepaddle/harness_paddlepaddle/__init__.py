"""PaddlePaddle adapter."""

import os
import warnings

# Paddle warns of a missing ccache when it is loaded, and of running statistics at every training step.
warnings.filterwarnings("ignore", module="paddle")

# Read when Paddle is loaded, which importing any other module of this package does: the interpreter of static programs logs each one.
os.environ.update(GLOG_minloglevel="2")
