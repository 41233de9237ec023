"""The worker: one process, one job. Requests come in on standard input, events go out on what was standard output.

Each is one line of JSON. The first line is the job document; after it the host sends ``{"do": NAME, ...}`` and the
worker answers each with exactly one event. Whatever a framework prints goes to standard error, which the host keeps as
a log, so that chatter can never be taken for an event.
"""

import json
import os
import sys
import time
import traceback
from typing import IO, Any, Dict, List, Tuple

PROTOCOL = 1

# Small enough that AlexNet and VGG stay finite when they see one batch hundreds of times; a step's cost does not depend on it.
TIMED_LR = 1e-4


def _take_streams() -> Tuple[IO[str], IO[str]]:
    """Return private handles of the two pipes, and leave the framework with /dev/null and the log instead."""
    requests = os.fdopen(os.dup(0), "r", encoding="utf-8")
    events = os.fdopen(os.dup(1), "w", encoding="utf-8")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    return requests, events


def _die_with_host() -> None:
    """Ask Linux to kill this process when the host dies, even where it is stopped and could not see its input end."""
    if sys.platform.startswith("linux"):
        import ctypes
        import signal

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # 1 is PR_SET_PDEATHSIG, see prctl(2)


def _pin(document: Any) -> None:
    """Hold the process to the CPUs granted, before numpy or a framework counts them. A wrong document is refused later."""
    cpus = document.get("cpus") if isinstance(document, dict) else None
    if hasattr(os, "sched_setaffinity") and isinstance(cpus, list) and all(type(cpu) is int for cpu in cpus) and cpus:
        os.sched_setaffinity(0, cpus)


def _forbid_tf32(document: Any) -> None:
    """Keep NVIDIA's libraries from TF32 whatever a framework asks of them, unless that is the precision to measure.

    They read the variable when they are loaded. What else a framework has for a switch is the adapter's affair.
    """
    if isinstance(document, dict) and document.get("precision") == "tf32":
        os.environ.pop("NVIDIA_TF32_OVERRIDE", None)
    else:
        os.environ["NVIDIA_TF32_OVERRIDE"] = "0"


class Worker:
    """Answers one host. Heavy imports wait for the constructor, so that CPU mask and variables are set before them."""

    def __init__(self, document: Any) -> None:
        _pin(document)
        _forbid_tf32(document)
        from harness.core import jobs, plugin

        self.job = jobs.parse(document)
        self.hooks = plugin.load(self.job.package, self.job.adapter, native=self.job.build == "native")
        self.session: Any = None
        self.staged: Any = None
        self.step: Any = None
        self.since_build = False

    def parity(self) -> Dict[str, Any]:
        """Prove each gate precision on the small fixture, and the precision that will be timed."""
        from harness.core.conformance import parity
        from harness.core.conformance.problem import Problem

        problem = Problem(self.job.model, self.job.mode)
        gates = [gate for gate in self.job.gates if gate != self.job.precision] + [self.job.precision]
        checks = [check for precision in gates for check in parity.prove(self.hooks, self.job, precision, problem)]
        return {"event": "parity", "checks": [_as_event(check) for check in checks]}

    def build(self) -> Dict[str, Any]:
        """Build the session that will be timed, run its first step and check it against the reference."""
        from harness.core import data
        from harness.core.conformance import parity
        from harness.core.models import MODELS

        job = self.job
        whole = MODELS[job.model].build(job.size)
        graph = whole if job.mode == "train" else whole.for_inference()
        fingerprint = graph.fingerprint()
        weights = data.weights(graph, job.seed)
        drawn = _images(job, whole, weights) if MODELS[job.model].generates else data.batch(whole, job.batch, job.seed)
        batch = {spec.name: drawn[spec.name] for spec in graph.inputs}
        request = job.request(job.precision, job.batch, _timed(MODELS[job.model]))
        witness = parity.Witness(job, graph, weights, batch)
        self.step = self.hooks.train_step if job.mode == "train" else self.hooks.infer_step
        _free_a_large_block()
        start = time.perf_counter()
        self.session = self.hooks.build_model(graph, weights, request)
        self.staged = self.hooks.stage_batch(self.session, batch)
        self.step(self.session, self.staged)
        self.hooks.sync_device(self.session)
        first_step = time.perf_counter() - start
        ledger = self.hooks.describe(self.session)
        parity.check_claims(job, ledger, job.precision, job.batch)
        results = self.hooks.read_results(self.session)
        checks = witness.checks(results)
        self.since_build = _forget_peak_rss()
        return {
            "event": "built",
            "first_step_seconds": first_step,
            "checks": [_as_event(check) for check in checks],
            "ledger": dict(ledger, window=_window(job.mode)),
            "graph": fingerprint,
            "loss": _number(results["loss"]),
            "work": data.work(whole, drawn),
        }

    def sync(self) -> Dict[str, Any]:
        """Prove that the session's sync waits. The steps of the proof are warm-up as well."""
        from harness.core.conformance import sync

        start = time.perf_counter()
        proof = sync.prove(self.hooks, self.session, self.staged, self.step)
        return {
            "event": "sync",
            "checks": [_as_event(check) for check in proof.checks],
            "timings": [{"steps": steps, "synced": t.synced, "reading": t.reading} for steps, t in sorted(proof.timings.items())],
            "steps": proof.steps,
            "seconds": time.perf_counter() - start,
        }

    def block(self, steps: int) -> Dict[str, Any]:
        """Time one block of ``steps`` steps."""
        from harness.core import measure

        return _block(measure.run_block(self.step, self.hooks.sync_device, self.session, self.staged, steps))

    def span(self, seconds: float) -> Dict[str, Any]:
        """Time as many steps as ``seconds`` hold."""
        from harness.core import measure

        return _block(measure.run_span(self.step, self.hooks.sync_device, self.session, self.staged, seconds))

    def requests(self, steps: int) -> Dict[str, Any]:
        """Time ``steps`` steps one by one. The block's seconds are the sum of the latencies."""
        from harness.core import measure

        found = measure.run_requests(self.step, self.hooks.sync_device, self.session, self.staged, steps)
        block = measure.Block(steps, found.start, found.start + sum(found.latencies), found.cpu)
        return dict(_block(block), latencies=found.latencies)

    def finish(self) -> Dict[str, Any]:
        """Report what the last step left and let the session go."""
        import numpy as np

        from harness.core.conformance import parity

        peak_rss, allocated = _peak_rss(), self.hooks.peak_memory(self.session)
        results = self.hooks.read_results(self.session)
        finite = all(bool(np.isfinite(np.asarray(a, "float64")).all()) for a in results["outputs"].values())
        loss = results["loss"]
        weights = self.hooks.read_weights(self.session) if self.job.mode == "train" else {}
        subnormals = _subnormals(list(results["outputs"].values()) + list(weights.values()))
        ledger = self.hooks.describe(self.session)
        parity.check_claims(self.job, ledger, self.job.precision, self.job.batch)
        self.hooks.close_model(self.session)
        return {
            "event": "finished",
            "finite": finite and (loss is None or bool(np.isfinite(loss))),
            "loss": _number(loss),
            "subnormals": subnormals,
            "ledger": dict(ledger, window=_window(self.job.mode)),
            "cpus": _allowed_cpus(),
            "peak_rss_bytes": peak_rss,
            "peak_rss_since_build": self.since_build,
            "peak_allocated_bytes": allocated,
        }


def _timed(model: Any) -> Any:
    """The optimizer of the timed steps."""
    return model.optimizer if model.generates else model.optimizer._replace(lr=TIMED_LR)


def _images(job: Any, graph: Any, weights: Any) -> Any:
    """What image generation is to come near to, from the user's images or from those that are made."""
    from harness.core import images
    from harness.core.models import style

    pair = images.unpacked(job.images, job.size) if job.images else images.made(job.size)
    return style.targets(graph, weights, {kind: images.centred(pair[kind]) for kind in images.KINDS})


def _block(block: Any) -> Dict[str, Any]:
    return {"event": "block", "steps": block.steps, "start": block.start, "seconds": block.seconds, "cpu_seconds": block.cpu}


def _window(mode: str) -> str:
    return "forward, loss, backward, optimiser; inputs resident" if mode == "train" else "forward; inputs resident"


def _free_a_large_block() -> None:
    """Bring glibc's allocator into the state that it is in once a process has freed a large block, as one with data has.

    It then keeps what it has instead of giving memory back and asking for it again in each step: with that, PyTorch's ResNet-18 took
    a quarter longer at batch 4. Proofs have done this mostly; here it is made certain, so that no number depends on them.
    """
    import numpy as np

    np.ones(2**25 - 2**16, dtype="uint8")  # just below 32 MiB, beyond which a block tells glibc nothing: mallopt(3)


def _forget_peak_rss() -> bool:
    """Let the peak of resident memory begin anew, so that proofs do not count. False where the system has no such thing."""
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")  # see proc(5)
    except OSError:
        return False
    return True


def _peak_rss() -> int:
    """Most bytes that were resident at once."""
    import resource

    try:
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        pass

    scale = 1 if sys.platform == "darwin" else 1024  # Linux counts in KiB
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale


def _allowed_cpus() -> Any:
    """How many CPUs the process may use by now, where the system tells."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None


def _number(value: Any) -> Any:
    """A float that JSON has, or None."""
    return None if value is None or not abs(float(value)) < float("inf") else float(value)


def _subnormals(given: List[Any]) -> float:
    """The share of subnormal numbers in the arrays."""
    import numpy as np

    arrays = [np.asarray(a) for a in given]
    arrays = [a for a in arrays if a.dtype.kind == "f" and a.size]
    tiny = sum(int(np.count_nonzero((a != 0) & (np.abs(a) < np.finfo(a.dtype).tiny))) for a in arrays)
    return tiny / max(1, sum(a.size for a in arrays))


def _as_event(check: Any) -> Dict[str, Any]:
    """Numbers that JSON has; an infinite error is written as null and still fails."""
    finite = check.error == check.error and check.error != float("inf")
    return {
        "what": check.what,
        "error": check.error if finite else None,
        "limit": check.limit,
        "worst": check.worst,
        "passed": check.passed,
    }


def serve(requests: IO[str], events: IO[str]) -> int:
    """Answer requests until ``finish`` or end of input; return the exit code. Every failure is an event first."""

    def emit(event: Dict[str, Any]) -> None:
        events.write(json.dumps(event) + "\n")
        events.flush()

    try:
        start = time.perf_counter()
        worker = Worker(json.loads(requests.readline()))
        emit({"event": "ready", "protocol": PROTOCOL, "python": sys.version.split()[0], "import_seconds": time.perf_counter() - start})
        for line in requests:
            request = json.loads(line)
            action = request.pop("do")
            if action not in ("parity", "build", "sync", "block", "span", "requests", "finish"):
                raise ValueError("unknown request '%s'" % action)
            emit(getattr(worker, action)(**request))
            if action == "finish":
                break
    except (Exception, SystemExit) as error:  # the edge: the host wants a reason for whatever an adapter raises
        from harness.core.failures import classify, explain

        traceback.print_exc()
        emit({"event": "failed", "status": classify(error), "reason": explain(error)})
        return 1
    return 0


def main() -> None:
    """Entry point of a staged worker. Leaves without interpreter shutdown, in which old frameworks crash or hang."""
    _die_with_host()
    requests, events = _take_streams()
    code = serve(requests, events)
    sys.stderr.flush()
    os._exit(code)
