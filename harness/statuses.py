"""The closed set of statuses that a cell can end with, and what each means for tables and exit codes."""

from enum import StrEnum


class Status(StrEnum):
    OK = "ok"
    UNSTABLE = "unstable"
    UNSUPPORTED = "unsupported"
    ENV_FAILED = "env-failed"
    PARITY_FAILED = "parity-failed"
    SYNC_FAILED = "sync-failed"
    OOM = "oom"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    INTERRUPTED = "interrupted"

    @property
    def has_number(self) -> bool:
        """Whether a table may print the cell's rate."""
        return self in (Status.OK, Status.UNSTABLE)

    @property
    def is_failure(self) -> bool:
        """Whether the cell makes the run's exit code 1. N/A is an answer, not a failure."""
        return not self.has_number and self is not Status.UNSUPPORTED
