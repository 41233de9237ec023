"""The latency and iterations protocols: what is asked of a worker, what a table says, and what the paper's columns hold."""

import csv
import io
import statistics

import msgspec
import pytest
from helpers import Recorder

from harness.config import Measure
from harness.errors import UserError
from harness.protocols import Iterations, Latency
from harness.report import columns29, iterations, latency, sheets
from harness.report.sheets import number, plus_minus

LATENCY = {"protocol": "latency", "batch": [1, 2, 4], "measure": {"warmup_requests": 2, "requests": 5, "repeats": 2, "sweeps": 3}}
MINUTES = {"protocol": "iterations", "modes": ["train"], "batch": 1, "measure": {"interval_seconds": 10, "intervals": 3}}


class Asked:
    """A rival that answers at once and notes what it was asked."""

    def __init__(self, seconds=1.0):
        self.requests, self.timed, self.step_seconds, self.seconds = [], [], 0.01, seconds

    def block(self, request, expected, label, **extra):
        self.requests.append((label, request["do"], request.get("steps", request.get("seconds")), extra.get("round")))

    def timed_block(self, request, expected, **extra):
        self.block(request, expected, "timed", **extra)
        self.timed.append(self.seconds)

    def refit(self, seconds):
        pass


def turns(rounds, rival):
    number = 0
    while rounds.has_budget(rival) and not rounds.is_done(rival):
        rounds.turn(rival, number, 1)
        number += 1
    return rival.requests


def test_a_sweep_is_some_repeats_of_warm_up_and_requests():
    measure = Measure(warmup_requests=2, requests=5, repeats=2, sweeps=2)
    asked = turns(Latency(measure), Asked())
    repeats = [[("warm-up", "requests", 2, None), ("timed", "requests", 5, number)] for number in range(4)]
    assert asked == [request for repeat in repeats for request in repeat]


def test_time_ends_the_sweeps_but_not_the_first():
    measure = Measure(warmup_requests=0, requests=5, repeats=2, sweeps=9, cell_seconds=5)
    assert len(turns(Latency(measure), Asked(seconds=1.0))) == 4  # two sweeps of 2 s; a third would end after 6
    assert len(turns(Latency(measure), Asked(seconds=99.0))) == 2


def test_minutes_are_counted_one_after_the_other():
    asked = turns(Iterations(Measure(interval_seconds=10, intervals=3)), Asked())
    spans = [request for request in asked if request[0] == "timed"]
    assert spans == [("timed", "span", 10, number) for number in range(3)]


class Timed(Recorder):
    """Writes runs of these protocols."""

    def latencies(self, cell, repeats, device_memory=None):
        for place, seconds in enumerate(repeats):
            fields = {"round": place, "sweep": place // 2, "repeat": place % 2, "latencies": seconds, "steps": len(seconds)}
            self._block(cell, sum(seconds), **fields)
        if device_memory is not None:
            self.journal.write(
                "device-memory", cell=cell.key, process=0, baseline=2**30, peak=2**30 + device_memory, samples=99, interval=0.01
            )
        return self._finished(cell)

    def spans(self, cell, spans, losses=(9.0, 3.0)):
        for place, (steps, seconds) in enumerate(spans):
            self._block(cell, seconds, steps=steps, round=place)
        return self._finished(cell, losses)

    def _block(self, cell, seconds, **fields):
        self.journal.write("block", cell=cell.key, process=0, label="timed", start=0.0, seconds=seconds, cpu_seconds=seconds, **fields)

    def _finished(self, cell, losses=(None, None)):
        check = {"what": "fp32 outputs", "error": 1e-7, "limit": 1e-5, "worst": "fc", "passed": True}
        ledger = {"framework": "PyTorch", "version": "9.9", "execution": "eager", "window": "forward"}
        self.journal.write("ready", cell=cell.key, python="3.11.7")
        self.journal.write("built", cell=cell.key, checks=[check], ledger=ledger, first_step_seconds=0.5, loss=losses[0])
        facts = {"peak_rss_bytes": 300 * 2**20, "peak_rss_since_build": True, "peak_allocated_bytes": None, "loss": losses[1]}
        self.journal.write("finished", cell=cell.key, finite=True, **facts)
        return self.ended(cell, "ok")


def rows(sheet):
    return [dict(zip(sheet.header, row, strict=True)) for row in sheet.rows]


def test_latencies_of_all_repeats_are_one_sample():
    recorder = Timed(**LATENCY)
    recorder.latencies(recorder.plan("alpha", batch=1), [[0.010, 0.012, 0.011], [0.010, 0.030, 0.011]])
    (sheet,) = latency.sheets(recorder.load())
    (row,) = rows(sheet)
    pooled = [10, 12, 11, 10, 30, 11]
    assert row["requests"] == "6"
    assert row["images/s"] == number(6 / sum(pooled) * 1000) and row["batch / median"] == number(1000 / 11)
    assert row["mean ± std, ms"] == plus_minus(statistics.mean(pooled), statistics.stdev(pooled))
    assert (row["P50, ms"], row["P99, ms (at most)"].partition(" ")[2]) == (number(11.0), "(n too small)")
    assert row["resident, MiB"] == "300"


def test_the_tail_has_a_bound_where_there_are_requests_enough():
    recorder = Timed(**LATENCY)
    values = [(1 + number / 1000) / 100 for number in range(500)]
    recorder.latencies(recorder.plan("alpha", batch=1), [values, values])
    (row,) = rows(latency.sheets(recorder.load())[0])
    p99, bound = row["P99, ms (at most)"].rstrip(")").split(" (")
    assert 14.9 < float(p99) < float(bound) <= 15


def test_saturation_is_found_or_said_to_be_farther_out():
    recorder = Timed(**LATENCY)
    for adapter, speeds in (("alpha", (100, 195, 200)), ("beta", (100, 150, 200))):
        for batch, speed in zip((1, 2, 4), speeds, strict=True):
            recorder.latencies(recorder.plan(adapter, batch=batch), [[batch / speed] * 3] * 2)
    (sheet,) = latency.sheets(recorder.load())
    assert "Alpha: throughput saturates at batch 2 (195 of at best 200 images/s)." in sheet.lines
    assert "Beta: not saturated; the largest batch, 4, is the first within 5% of the best." in sheet.lines


def test_no_saturation_point_rests_on_unstable_numbers():
    recorder = Timed(**LATENCY)
    recorder.latencies(recorder.plan("alpha", batch=1), [[0.01] * 3] * 2)
    recorder.latencies(recorder.plan("alpha", batch=2), [[0.01] * 3, [0.05] * 3])
    (sheet,) = latency.sheets(recorder.load())
    assert "Alpha: no saturation point is told, since the numbers of batch 2 are unstable." in sheet.lines


def test_memory_of_a_gpu_has_its_columns_and_says_how_it_was_sampled():
    recorder = Timed(**LATENCY)
    recorder.latencies(recorder.plan("alpha", batch=1, device="cuda"), [[0.01] * 3] * 2, device_memory=512 * 2**20)
    (sheet,) = latency.sheets(recorder.load())
    (row,) = rows(sheet)
    assert (row["device, MiB"], row["allocator, MiB"], row["resident, MiB"]) == ("512", "not counted", "300")
    assert any("99 to 99 samples 10 ms apart" in line for line in sheet.lines)


def test_threads_are_a_column_where_there_are_several_and_what_failed_says_so():
    recorder = Timed(**LATENCY)
    recorder.latencies(recorder.plan("alpha", batch=1, threads=1), [[0.02] * 3] * 2)
    recorder.ended(recorder.plan("alpha", batch=1, threads=64), "unsupported", "2 CPUs may be used here, not 64")
    recorder.ended(recorder.plan("alpha", batch=512, threads=1), "oom", "no memory")
    (sheet,) = latency.sheets(recorder.load())
    assert [row["threads"] for row in rows(sheet)] == ["1", "64", "1"]
    assert [row["requests"] for row in rows(sheet)] == ["6", "N/A", "oom"]
    assert {"[1] unsupported: 2 CPUs may be used here, not 64", "[2] oom: no memory"} <= set(sheet.lines)
    assert all(text for row in sheet.rows for text in row[:-1])  # no blanks but among the notes


def test_rivals_have_ratios_to_the_baseline_at_the_same_batch():
    recorder = Timed(**{**LATENCY, "baseline": None})
    recorder.latencies(recorder.plan("alpha", batch=1), [[0.02] * 3] * 8)
    recorder.latencies(recorder.plan("beta", batch=1), [[0.01] * 3] * 8)
    run = recorder.load()
    run = msgspec.structs.replace(run, suite=run.suite.model_copy(update={"adapters": ("alpha", "beta")}))
    assert [row["ratio"] for row in rows(latency.sheets(run)[0])] == ["1", "2.000 [2.000, 2.000] faster"]


def test_iterations_accumulate_and_sizes_are_compared():
    recorder = Timed(**MINUTES)
    for size, spans in ((64, [(40, 9.9), (42, 10.0), (41, 9.9)]), (128, [(10, 9.8), (10, 9.9), (11, 10.0)])):
        recorder.spans(recorder.plan("alpha", model="style-vgg", mode="train", batch=1, size=size), spans)
    recorder.ended(recorder.plan("alpha", model="style-vgg", mode="train", batch=1, size=512), "crashed", "core dumped")
    (sheet,) = iterations.sheets(recorder.load())
    small, _, broken = rows(sheet)
    assert [small[mark] for mark in ("10 s", "20 s", "30 s")] == ["40", "82", "123"]
    assert small["iterations/min"] == number(123 / 29.8 * 60) and small["loss"] == f"{number(9.0)} to {number(3.0)}"
    assert (broken["size"], broken["10 s"]) == ("512 px", "crashed") and "[1] crashed: core dumped" in sheet.lines
    factor = (123 / 29.8) / (31 / 29.7)
    assert f"Alpha, cpu: iterations take longer by a factor of: 64 to 128 px {factor:.2f}." in sheet.lines
    assert "Shortened: the published protocol counts after minutes, this run after 10 s." in sheet.lines


def test_minutes_are_called_so_and_devices_compared():
    recorder = Timed(**{**MINUTES, "measure": {"interval_seconds": 60, "intervals": 2}})
    fields = {"model": "style-nin", "mode": "train", "batch": 1, "size": 128}
    recorder.spans(recorder.plan("alpha", device="cpu", **fields), [(6, 59.0), (6, 60.0)])
    recorder.spans(recorder.plan("alpha", device="cuda", **fields), [(60, 59.5), (59, 59.5)])
    (sheet,) = iterations.sheets(recorder.load())
    assert sheet.header[3:6] == ("1 min", "2 min", "iterations/min") and not any("Shortened" in line for line in sheet.lines)
    assert "Alpha: cuda is faster than the CPU by a factor of: 128 px 9.92." in sheet.lines


def test_a_count_that_came_late_says_when():
    recorder = Timed(**MINUTES)
    recorder.spans(recorder.plan("alpha", model="style-vgg", mode="train", batch=1, size=256), [(1, 22.0), (1, 22.0), (1, 23.0)])
    (row,) = rows(iterations.sheets(recorder.load())[0])
    assert [row[mark] for mark in ("10 s", "20 s", "30 s")] == ["1 at 22 s", "2 at 44 s", "3 at 67 s"]


def test_the_paper_s_columns():
    recorder = Timed(**LATENCY)
    recorder.latencies(recorder.plan("alpha", batch=4), [[0.010, 0.020, 0.030], [0.010, 0.010, 0.040]])
    run = recorder.load()
    host = {**run.host, "hostname": "h", "system": "Linux 6.1", "machine": "x86_64", "memory_bytes": 2**33}
    host["cpu_topology"] = {"sockets": 2, "cores_per_socket": 8, "threads_per_core": 2, "logical": 32}
    text = columns29.exported(msgspec.structs.replace(run, host=host))
    first, second = csv.DictReader(io.StringIO(text))
    assert len(first) == 29 and None not in first
    expected = {"sweep_id": "1", "repeat_id": "1", "batch_size": "4", "iters": "3", "warmup_iters": "2", "median_ms": "20.000"}
    expected |= {"mean_ms": "20.000", "std_latency_ms": "8.165", "p99_latency_ms": "29.800", "throughput_ips": "200.000"}
    expected |= {"os": "Linux", "kernel": "6.1", "cpu_sockets": "2", "mem_total_mb": "8192", "python_version": "3.11.7"}
    expected |= {"torch_version": "9.9", "cuda_available": "False", "gpu_peak_mem_mb": "", "cpu_threads_per_core": "2"}
    assert {name: first[name] for name in expected} == expected
    assert (second["sweep_id"], second["repeat_id"], second["median_ms"]) == ("1", "2", "10.000")
    assert first["timestamp_utc"].endswith("+00:00")


def test_what_the_paper_s_columns_cannot_hold_is_refused():
    recorder = Timed(**LATENCY)
    for precision in ("fp32", "bf16"):
        recorder.latencies(recorder.plan("alpha", precision=precision), [[0.01] * 3] * 2)
    with pytest.raises(UserError, match="precisions bf16, fp32, which these columns do not tell apart"):
        columns29.exported(recorder.load())
    recorder = Recorder()
    recorder.measured(recorder.plan("alpha"), [0.5, 0.5])
    with pytest.raises(UserError, match="these columns are for measured latencies"):
        columns29.exported(recorder.load())


def test_both_kinds_of_tables_are_markdown_too():
    recorder = Timed(**LATENCY)
    recorder.latencies(recorder.plan("alpha", batch=1), [[0.01] * 3] * 2)
    text = sheets.markdown(latency.sheets(recorder.load()))
    assert text.startswith("### Latency, MobileNet") and "| framework | batch | requests |" in text
