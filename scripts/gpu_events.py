"""The same blocks of steps by the host's clock and by CUDA's events. Run by scripts/gpu-check in PyTorch's environment.

    python gpu_events.py STAGED DEVICE THREADS MODEL BATCH

STAGED holds harness.core and the PyTorch adapter: the session, the loop and the clock are those of the harness. An event is recorded
beside each reading of the clock. Printed as JSON: for each block its steps and its seconds by both.
"""

import json
import sys

BLOCKS = 5
BLOCK_SECONDS = 0.4


def main():
    staged, device, threads, model, batch = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4], int(sys.argv[5])
    sys.path.insert(0, staged)
    import torch

    from harness.core import BuildRequest, Optimizer, data, measure
    from harness.core.models import MODELS
    from harness_pytorch import adapter

    whole = MODELS[model].build(MODELS[model].size)
    graph = whole.for_inference()
    drawn = data.batch(whole, batch, 1)
    request = BuildRequest("infer", device, "fp32", "eager", batch, threads, Optimizer())
    session = adapter.build_model(graph, data.weights(graph, 1), request)
    staged_batch = adapter.stage_batch(session, {spec.name: drawn[spec.name] for spec in graph.inputs})
    stream, events = torch.cuda.current_stream(session.device), []

    def sync(session):
        """Behind the block's work and before its clock is read: at the end an event waits in line; at the start nothing is in line."""
        event = torch.cuda.Event(enable_timing=True)
        if len(events) % 2:
            event.record(stream)
            adapter.sync_device(session)
        else:
            adapter.sync_device(session)
            event.record(stream)
        events.append(event)

    first = measure.run_span(adapter.infer_step, adapter.sync_device, session, staged_batch, 1.0)  # warm-up, and how long a step takes
    steps = max(1, round(BLOCK_SECONDS * first.steps / first.seconds))
    blocks = [measure.run_block(adapter.infer_step, sync, session, staged_batch, steps) for _ in range(BLOCKS)]
    by_events = [start.elapsed_time(end) / 1000 for start, end in zip(events[::2], events[1::2], strict=True)]
    print(
        json.dumps([{"steps": block.steps, "host": block.seconds, "events": told} for block, told in zip(blocks, by_events, strict=True)])
    )


main()
