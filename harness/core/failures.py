"""Turning an exception into one of the statuses that a cell can end with."""

from harness.core.errors import ContractError, GeometryError, HarnessError, Unsupported

# Texts by which allocators say that memory ran out, seen in PyTorch, TensorFlow, MXNet, Paddle, CUDA and C++.
OUT_OF_MEMORY = (
    "out of memory",
    "can't allocate memory",
    "failed to allocate",
    "fail to alloc memory",
    "resourceexhausted",
    "resource_exhausted",
    "oom when allocating",
    "std::bad_alloc",
)


def classify(error: BaseException) -> str:
    """Return the status for an exception that escaped an adapter: unsupported, oom, env-failed, parity-failed or crashed."""
    if isinstance(error, (GeometryError, Unsupported)):
        return "unsupported"
    text = ("%s %s" % (type(error).__name__, error)).lower()
    if isinstance(error, MemoryError) or any(phrase in text for phrase in OUT_OF_MEMORY):
        return "oom"
    if isinstance(error, ModuleNotFoundError):
        return "env-failed"
    if isinstance(error, ContractError):
        return "parity-failed"
    return "crashed"


LONGEST = 600  # characters of a reason: it stands under a table, and the log has everything


def explain(error: BaseException) -> str:
    """Return one line about ``error``: frameworks add call stacks and banners of many lines to what went wrong."""
    line = " ".join(str(error).partition("[CALL STACK]")[0].split())
    if not isinstance(error, HarnessError):
        line = type(error).__name__ + (": " + line if line else "")
    return line if len(line) <= LONGEST else "%s ... %s" % (line[: LONGEST // 2], line[-LONGEST // 2 :])
