"""The errors that the measured side raises on purpose."""


class HarnessError(Exception):
    """A fault whose message is enough for its reader: who, where, what and the way out. No stack trace needed."""


class GeometryError(HarnessError):
    """A network cannot work at this size: some layer would get an empty map, or a single value to normalise."""


class ContractError(HarnessError):
    """An adapter breaks a promise of the hook specification."""


class Unsupported(HarnessError):
    """An adapter cannot do an op or a setting. This is where a table's N/A comes from, so the reason is for readers."""

    def __init__(self, what: str, reason: str) -> None:
        super().__init__("%s: %s" % (what, reason))
        self.what = what
        self.reason = reason
