"""Errors for unknown names, with the nearest known one."""

import difflib
from collections.abc import Iterable


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """Return a sentence saying that ``name`` is no ``kind``, what it may have meant, and what there is."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    return f"'{name}' is no {kind}.{hint} There {'is' if len(names) == 1 else 'are'}: {', '.join(names) or 'none'}."
