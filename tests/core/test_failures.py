"""Which status an exception gives a cell."""

import pytest

from harness.core import GeometryError, HarnessError, Unsupported
from harness.core.errors import ContractError
from harness.core.failures import OUT_OF_MEMORY, classify, explain

# What allocators really say. Real messages are long; only the part that matters is here.
OUT_OF_MEMORY_MESSAGES = [
    "CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 15.78 GiB total capacity)",
    "[enforce fail at alloc_cpu.cpp:75] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 4096 bytes",
    "cudaMalloc retry failed: out of memory",
    "OOM when allocating tensor with shape[256,64,224,224] and type float on /device:GPU:0",
    "Failed to allocate request for 2.00GiB (2147483648B) on device ordinal 0",
    "RESOURCE_EXHAUSTED: Attempting to allocate 1.00G",
    "ResourceExhaustedError: 2 root error(s) found",
    "Fail to alloc memory of 12884901888 size, error code is 12.",
    "std::bad_alloc",
]


class ResourceExhaustedError(Exception):
    """TensorFlow's, by name."""


@pytest.mark.parametrize("text", OUT_OF_MEMORY_MESSAGES)
def test_every_way_of_saying_that_memory_ran_out(text):
    assert classify(RuntimeError(text)) == "oom"


@pytest.mark.parametrize("phrase", OUT_OF_MEMORY)
def test_every_phrase_is_met_by_a_message_above(phrase):
    assert phrase == phrase.lower()
    assert any(phrase in text.lower() for text in OUT_OF_MEMORY_MESSAGES)


@pytest.mark.parametrize("error", [MemoryError(), MemoryError("Unable to allocate 7.5 GiB"), ResourceExhaustedError()], ids=repr)
def test_the_type_alone_can_say_that_memory_ran_out(error):
    assert classify(error) == "oom"


@pytest.mark.parametrize(
    "error, status",
    [
        (Unsupported("lstm", "needs a GPU build"), "unsupported"),
        (Unsupported("batch 512", "out of memory on this device"), "unsupported"),
        (ContractError("adapter 'acme' has no hook 'train_step'"), "parity-failed"),
        (GeometryError("nin: node 'pool3': kernel 3 is larger than the padded map 2"), "unsupported"),
        (HarnessError("job: fields differ"), "crashed"),
        (ValueError("memory layout not understood"), "crashed"),
        (ModuleNotFoundError("No module named 'acme'"), "env-failed"),
        (ImportError("libacme.so: cannot open shared object file"), "crashed"),
        (KeyError("conv1.weight"), "crashed"),
    ],
    ids=repr,
)
def test_classification(error, status):
    assert classify(error) == status


def test_an_unsupported_keeps_what_and_why():
    error = Unsupported("lstm", "needs a GPU build")
    assert (error.what, error.reason, str(error)) == ("lstm", "needs a GPU build", "lstm: needs a GPU build")


@pytest.mark.parametrize(
    "error, line",
    [
        (Unsupported("lstm", "no kernel"), "lstm: no kernel"),
        (KeyError("conv1"), "KeyError: 'conv1'"),
        (RuntimeError("shapes differ\n\n[CALL STACK]\n[0x7f] foo\n[0x7f] bar"), "RuntimeError: shapes differ"),
        (ValueError("one\n   two\tthree  "), "ValueError: one two three"),
    ],
)
def test_a_failure_is_explained_in_one_line(error, line):
    assert explain(error) == line


def test_a_long_explanation_keeps_its_ends():
    line = explain(ValueError("first " + "x" * 5000 + " last"))
    assert line.startswith("ValueError: first ") and line.endswith(" last") and len(line) < 700
