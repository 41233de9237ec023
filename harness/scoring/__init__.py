"""Scoring: three papers' recipes as functions, and a table of throughputs next to a gold one."""

from harness.scoring.latency import Latency, latency_statistics
from harness.scoring.recipes import Beside, calculate_throughput, compute_metric

__all__ = ["Beside", "Latency", "calculate_throughput", "compute_metric", "latency_statistics"]
