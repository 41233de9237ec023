"""A run folder as large as none was measured: its events have the shape of real ones, their numbers are drawn."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from harness import adapters, config, matrix
from harness.journal import Journal
from harness.matrix import Cell

MODELS = ("alexnet", "vgg16", "vgg19", "resnet18", "resnet50", "resnet101", "mobilenet", "nin")
WINDOWS = {"train": "forward, loss, backward, optimiser; inputs resident", "infer": "forward; inputs resident"}
SETTINGS = {"interop_threads": 1, "layout": "channels last", "fp32_arithmetic": "ieee", "tf32": False, "library": "oneDNN AVX512"}
CHECKS = {
    "train": ("outputs", "loss", "running statistics", "weights after one step", "update", "loss of step 2", "loss of step 3"),
    "infer": ("outputs",),
}
BLOCKS = 6  # as the suite that the harness runs by default has


def write(cells: int) -> Path:
    """Write a run of so many cells, or a few fewer, and return its folder. All have ended, well or badly."""
    source = config.load()
    known = adapters.discover(source.adapter_folders())
    sizes = tuple(range(64, 256, 32))
    suite = config.Suite(
        title="Generated",
        adapters=tuple(known),
        models=MODELS,
        batch=tuple(range(1, 1 + cells // (len(known) * len(MODELS) * 2 * len(sizes)))),
        size=sizes,
    )
    planned = [item.cell for item in matrix.plan(suite, known, lambda device: None, lambda adapter, kind: None)]
    titles = {name: adapter.manifest.title for name, adapter in known.items()}
    origin = {"config": str(source.path), "environments": {}, "try_gaps": False}
    journal = Journal.create("generated", suite, {"cpu": "Test CPU", "gpus": []}, 2, titles, ["harness", "run"], origin)
    journal.close()
    draw = random.Random(1)
    with (journal.folder / "events.jsonl").open("wb") as file:
        for cell in planned:
            file.write(msgspec.json.encode({"event": "cell-planned", "time": 0.0, "cell": cell}) + b"\n")
        for cell in planned:
            for event, fields in _events(cell, draw):
                file.write(msgspec.json.encode({"event": event, "time": 1.8e9, "cell": cell.key, "process": 0, **fields}) + b"\n")
    return journal.folder


def _events(cell: Cell, draw: random.Random) -> Iterator[tuple[str, dict[str, Any]]]:
    """What a cell's life left in the journal of a real run."""
    fate = draw.random()
    if fate < 0.1:
        yield "cell-ended", {"status": "unsupported", "reason": f"{cell.adapter} has no such build"}
        return
    packages = {"packages": [f"package-{number}=={number}.0" for number in range(12)], "python": "3.11.7", "lock": "0" * 64}
    yield "cell-started", {"code": "0" * 64, "environment": packages, "python": "/cache/envs/bin/python"}
    if fate < 0.12:
        yield "cell-ended", {"status": "crashed", "reason": f"the worker was killed by signal 11 (log: logs/{cell.key})"}
        return
    yield "ready", {"protocol": 1, "python": "3.11.7", "import_seconds": draw.random()}
    checks = [_check(f"{gate} {what}", draw) for gate in ("fp64", "fp32") for what in CHECKS[cell.mode]]
    yield "parity", {"checks": checks}
    ledger = {"framework": cell.adapter.title(), "version": "1.0", "execution": cell.variant, "batch": cell.batch, "threads": 2, **SETTINGS}
    ledger["window"] = WINDOWS[cell.mode]
    loss = {"loss": 7 + draw.random() if cell.mode == "train" else None}
    built = {"first_step_seconds": draw.random(), "checks": [_check("full-size loss", draw)], "work": cell.batch, "graph": "0" * 64}
    yield "built", {"ledger": ledger, **built, **loss}
    yield "sync", {"checks": [_check("time left after sync", draw)], "timings": [], "steps": 4, "seconds": draw.random()}
    step = draw.uniform(0.001, 0.3)
    yield "block", _block("warm-up", 1, step, draw)
    yield "warmed-up", {"steady": True, "spread": 0.01, "steps": 5, "seconds": 5 * step}
    for number in range(BLOCKS):
        yield "block", _block("settle", 1, step, draw)
        yield "block", {**_block("timed", 10, step, draw), "round": number, "alive": 6}
    yield "finished", {"finite": True, "loss": draw.random(), "subnormals": 0.0, "ledger": ledger, "cpus": 2, "peak_rss_bytes": 2**30}
    yield "cell-ended", {"status": "ok", "reason": ""}


def _check(what: str, draw: random.Random) -> dict[str, Any]:
    return {"what": what, "error": draw.uniform(0, 1e-7), "limit": 1e-5, "worst": "fc.weight", "passed": True}


def _block(label: str, steps: int, step: float, draw: random.Random) -> dict[str, Any]:
    seconds = steps * step * draw.gauss(1, 0.01)
    return {"label": label, "steps": steps, "start": 0.0, "seconds": seconds, "cpu_seconds": 2 * seconds, "others": draw.uniform(0, 0.12)}
