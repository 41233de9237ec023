"""What a device is called: "cpu", "cuda", "cuda:N" as CUDA counts, or a GPU's UUID as `nvidia-smi -L` prints it."""

import re

UUID = re.compile(r"GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
NUMBERED = re.compile(r"cuda(:(0|[1-9]\d*))?")
NAMES = "cpu, cuda, cuda:N or a GPU's UUID as `nvidia-smi -L` prints it"


def is_uuid(device: str) -> bool:
    return UUID.fullmatch(device) is not None


def is_device(text: str) -> bool:
    return text == "cpu" or NUMBERED.fullmatch(text) is not None or is_uuid(text)


def kind(device: str) -> str:
    """ "cpu" or "cuda": which of an adapter's builds runs there."""
    return "cpu" if device == "cpu" else "cuda"


def number(device: str) -> int:
    """Which of the GPUs that CUDA sees "cuda" and "cuda:N" mean."""
    return int(device.partition(":")[2] or 0)


def inside(device: str) -> str:
    """What a worker calls its device. One that was given a GPU by UUID sees no other, so it is plain "cuda" there."""
    return "cuda" if is_uuid(device) else device


def variables(device: str) -> dict[str, str]:
    """What a worker's environment says about devices beyond what the user's own does."""
    return {"CUDA_VISIBLE_DEVICES": device} if is_uuid(device) else {}
