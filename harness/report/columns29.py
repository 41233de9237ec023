"""A latency run in the columns of DEEP-GAP's own code, so that its plots and spreadsheets take it: a row for every repeat."""

import datetime
from collections.abc import Iterator

import numpy as np

from harness.errors import UserError
from harness.report.sheets import comma_separated
from harness.results import Run
from harness.summary import Block, CellResult

HEADER = (
    "timestamp_utc,device,sweep_id,repeat_id,model,batch_size,threads,iters,warmup_iters,median_ms,mean_ms,std_latency_ms,p99_latency_ms,"
    "throughput_ips,hostname,os,kernel,arch,cpu_model,cpu_sockets,cpu_cores_per_socket,cpu_threads_per_core,cpu_logical_cpus,mem_total_mb,"
    "python_version,torch_version,cuda_available,torchvision_version,gpu_peak_mem_mb"
)
MIB = 2**20


def exported(run: Run) -> str:
    """Return CSV. Raises ``UserError`` for a run that these columns cannot hold: they tell neither frameworks nor precisions apart."""
    measured = [result for result in run.cells if result.status.has_number]
    if run.suite.protocol != "latency" or not measured:
        raise UserError(f"{run.folder}: these columns are for measured latencies, which this run does not have. Try harness run deep-gap.")
    for what in ("adapter", "variant", "precision", "mode", "track"):
        found = sorted({str(getattr(result.cell, what)) for result in measured})
        if len(found) > 1:
            raise UserError(f"{run.folder}: has the {what}s {', '.join(found)}, which these columns do not tell apart. Run one at a time.")
    rows = [row for result in measured for block in result.blocks for row in _rows(run, result, block)]
    return comma_separated(HEADER.split(","), rows)


def _rows(run: Run, result: CellResult, block: Block) -> Iterator[list[str]]:
    """One repeat. Statistics are that code's: the deviation has n in the denominator, throughput is batch / median."""
    host, cell, ms = run.host, result.cell, 1000 * np.asarray(block.latencies)
    topology = host.get("cpu_topology") or {}
    median, ledger = float(np.median(ms)), result.ledger
    moment = datetime.datetime.fromtimestamp(block.time, datetime.UTC).isoformat(timespec="seconds")
    sweep = block.process * run.suite.measure.sweeps + block.sweep + 1
    measure = [str(len(ms)), str(run.suite.measure.warmup_requests)]
    figures = [median, float(ms.mean()), float(ms.std()), float(np.percentile(ms, 99)), 1000 * cell.batch / median]
    system, _, kernel = str(host["system"]).partition(" ")
    machine = [str(host["hostname"]), system, kernel, str(host["machine"]), str(host["cpu"])]
    cores = [str(topology.get(name, "")) for name in ("sockets", "cores_per_socket", "threads_per_core", "logical")]
    memory = "" if result.memory.device is None else f"{result.memory.device / MIB:.0f}"
    software = [result.python, str(ledger["version"]) if ledger.get("framework") == "PyTorch" else ""]
    yield [
        *(moment, cell.device_kind, str(sweep), str(block.repeat + 1), cell.model, str(cell.batch), str(cell.threads or run.threads)),
        *(*measure, *(f"{value:.3f}" for value in figures), *machine, *cores, f"{host['memory_bytes'] / MIB:.0f}"),
        *(*software, str(cell.device != "cpu"), "", memory),
    ]
