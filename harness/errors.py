"""The host's one exception class for faults whose message is enough."""


class UserError(Exception):
    """Something the user can mend: the message says what is wrong, where, and the way out. Exit code 2, no trace."""
