"""Framework Harness: which deep-learning framework is faster, on which model and device, and how sure are we.

``harness`` is the host side (Python 3.11 or newer). ``harness.core`` is the measured side: it is staged into
every framework's own environment and must run on Python 3.6, so this file must stay importable there too.
"""

__version__ = "0.1.0"
