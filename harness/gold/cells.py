"""Text of a table's cell to a number with its spread, or to the word that stands in its place."""

import re
from typing import NamedTuple

from harness.gold.records import Value
from harness.statuses import Status

# Words that say "no number". The statuses are what this harness's own tables have in such a place.
NO_NUMBER = {"", "-", "–", "—", "n/a", "na", "none", "null", "?", "??", "???", "tba", "oom", "not planned"} | {str(s) for s in Status}
# Beyond these no throughput or time is; they also keep every ratio and square of two numbers finite.
SMALLEST, LARGEST = 1e-9, 1e15

_SHAPE = r"(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?"
_NUMBER = re.compile(rf"\+?({_SHAPE})")
_SPREAD = re.compile(rf"({_SHAPE})\s*(%?)")
_PLUS_MINUS = re.compile(r"±|\+/-|\+-")


class Reading(NamedTuple):
    """What a cell says: a value, or a word in its place; and whether its ± was given in percent of the mean."""

    value: Value | None
    word: str = "N/A"
    relative: bool = False


def read(text: str, spread: str = "") -> Reading:
    """Return what the cell ``text`` says; ``spread`` is the cell of a column of its own for what follows the ±.

    Read are ``1547 ± 316``, ``9631 ± 1.3%``, ``4.8e6 +/- 2.9%``, ``1,554``, and the words of ``NO_NUMBER`` in any case.
    Raises ``ValueError``, with a sentence for people, for anything else: zero and negative numbers among it.
    """
    first, sign, second = _split(text)
    aside = "" if spread.strip().casefold() in NO_NUMBER else spread.strip()
    if first.casefold() in NO_NUMBER:
        if sign or aside:
            raise ValueError(f"{shown(text)} has a spread and no number")
        return Reading(None, first if first.casefold() not in {"", "-", "–", "—"} else "N/A")
    if sign and aside:
        raise ValueError(f"{shown(text)} has a spread in the cell and another one beside it, {shown(spread)}")
    mean = _number(first)
    if not sign and not aside:
        return Reading(Value(mean=mean))
    std, relative = _deviation(second if sign else aside, mean)
    return Reading(Value(mean=mean, std=std), relative=relative)


def shown(text: str) -> str:
    """Text of a file in a message: in quotes, cut where it is long."""
    return repr(text if len(text) <= 40 else text[:37] + "...")


def _split(text: str) -> tuple[str, str, str]:
    found = _PLUS_MINUS.search(text)
    if found is None:
        return text.strip(), "", ""
    return text[: found.start()].strip(), found.group(), text[found.end() :].strip()


def _number(text: str) -> float:
    found = _NUMBER.fullmatch(text)
    if found is None:
        if re.fullmatch(rf"[-−]\s*{_SHAPE}", text):
            raise ValueError(f"{shown(text)} is negative, which no throughput is")
        raise ValueError(f"{shown(text)} is no number; write one like 1547, 1,547, 4.8e6 or 1547 ± 316, or N/A")
    number = float(found[1].replace(",", ""))
    if number == 0:
        raise ValueError(f"{shown(text)} is zero, which no throughput is; write N/A where there is no number")
    if not SMALLEST <= number <= LARGEST:
        raise ValueError(f"{shown(text)} is out of range: throughputs lie between {SMALLEST:g} and {LARGEST:g}")
    return number


def _deviation(text: str, mean: float) -> tuple[float, bool]:
    found = _SPREAD.fullmatch(text)
    if found is None:
        raise ValueError(f"{shown(text)} is no spread; write one like 316 or 1.3%")
    number = float(found[1].replace(",", ""))
    if number > LARGEST:
        raise ValueError(f"{shown(text)} is out of range: a spread is at most {LARGEST:g}")
    return (mean * number / 100, True) if found[2] else (number, False)
