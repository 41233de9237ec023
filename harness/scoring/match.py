"""Which prediction belongs to which cell of a gold table."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from harness.errors import UserError
from harness.gold import names
from harness.gold.published import Column, Gold
from harness.gold.records import Entry, Record

CONDITIONS = ("mode", "precision", "batch", "device", "variant")


class Choice(Record):
    """What the command line chooses of predictions and gold; None leaves a condition open."""

    mode: str | None = None
    precision: str | None = None
    device: str | None = None
    batch: int | None = None
    variants: dict[str, str] = {}  # by the framework's folded name

    def keeps(self, entry: Entry) -> bool:
        """Whether ``entry`` is among those chosen. What it does not say cannot speak against it."""
        for field in ("mode", "precision", "device", "batch"):
            wanted, has = getattr(self, field), getattr(entry, field)
            if wanted is not None and has is not None and wanted != has:
                return False
        wanted = self.variants.get(names.framework(entry.framework))
        return wanted is None or entry.variant is None or entry.variant == wanted

    def told(self, entry: Entry) -> Entry:
        """Return ``entry`` with what it does not say as chosen: whoever chooses knows what the table holds."""
        said = {field: getattr(self, field) for field in ("mode", "precision", "device", "batch") if getattr(entry, field) is None}
        return entry.model_copy(update=said)


class Stranger(NamedTuple):
    """A prediction that has no place in the gold table, and why."""

    entry: Entry
    why: str


class Matched(NamedTuple):
    """Predictions by gold's framework and column, and those without a place. ``columns`` are those of gold to score against."""

    columns: tuple[Column, ...]
    pairs: dict[tuple[str, str], Entry]
    strangers: tuple[Stranger, ...]


def match(entries: Sequence[Entry], gold: Gold, choice: Choice) -> Matched:
    """Return which of ``entries`` belongs where.

    A heading that is a gold column's own belongs there; else the model must be the column's, and mode and precision must agree
    where both sides say them. A batch must agree only where gold has the model at several. An option chooses among gold's
    columns where some column has what it says; else it replaces gold's condition, and the report says so.
    Raises ``UserError``, with the way to choose, where two entries or two columns fit, and where units differ.
    """
    columns = _chosen(gold.columns, choice)
    frameworks = {names.framework(name): name for name in gold.frameworks}
    found: dict[tuple[str, str], list[Entry]] = {}
    strangers: list[Stranger] = []
    for entry in entries:
        framework = frameworks.get(names.framework(entry.framework))
        fitting = _fitting(entry, columns, choice)
        if framework is None:
            strangers.append(Stranger(entry, "gold has no such framework"))
        elif not choice.keeps(entry):
            strangers.append(Stranger(entry, "not among the chosen"))
        elif isinstance(fitting, str):
            strangers.append(Stranger(entry, fitting))
        else:
            found.setdefault((framework, fitting.name), []).append(choice.told(entry))
    by_name = {column.name: column for column in columns}
    pairs = {pair: _only(pair, fit, by_name[pair[1]]) for pair, fit in found.items()}
    return Matched(columns, pairs, tuple(strangers))


def _chosen(columns: tuple[Column, ...], choice: Choice) -> tuple[Column, ...]:
    for field in ("mode", "precision", "batch"):
        wanted = getattr(choice, field)
        having = {column.key for column in columns if wanted is not None and getattr(column, field) == wanted}
        columns = tuple(column for column in columns if column.key not in having or getattr(column, field) == wanted)
    return columns


def _fitting(entry: Entry, columns: tuple[Column, ...], choice: Choice) -> Column | str:
    """The one column that ``entry`` belongs to, or why there is none."""
    own = [column for column in columns if names.fold(column.name) == names.fold(entry.model)]
    if own:
        return own[0] if _agree(entry, own[0], choice) else _why_not(entry, own[0])
    model = names.heading(entry.model).model
    same = [column for column in columns if column.key == model]
    if not same:
        return "gold has no such model"
    fitting = [column for column in same if _agree(entry, column, choice)]
    if not fitting:
        return _why_not(entry, same[0])
    if len(fitting) > 1 and entry.batch is not None:
        batches = sorted({column.batch for column in fitting if column.batch is not None})
        fitting = [column for column in fitting if column.batch == entry.batch]
        if not fitting:
            return f"gold has the batches {', '.join(map(str, batches))}"
    if len(fitting) > 1:
        raise UserError(
            f"{entry.where}: '{entry.model}' may be gold's {_listed(column.name for column in fitting)}. "
            f"Write the whole heading, or choose: {_ways(fitting)}."
        )
    return fitting[0]


def _agree(entry: Entry, column: Column, choice: Choice) -> bool:
    for field in ("mode", "precision"):
        wanted, has = getattr(column, field), getattr(entry, field)
        if getattr(choice, field) is None and wanted is not None and has is not None and wanted != has:
            return False
    return True


def _why_not(entry: Entry, column: Column) -> str:
    pairs = [(getattr(entry, field), getattr(column, field)) for field in ("mode", "precision")]
    return ", ".join(f"{has}, and gold's is {wanted}" for has, wanted in pairs if wanted is not None and has is not None and has != wanted)


def _only(pair: tuple[str, str], fit: list[Entry], column: Column) -> Entry:
    if len(fit) > 1:
        title = f"{pair[0]}, {pair[1]}"
        if not _ways(fit):
            places = _listed(f"{entry.where} ({entry.framework}, {entry.model})" for entry in fit)
            raise UserError(f"{title} stands there {len(fit)} times: {places}. Keep one.")
        raise UserError(f"{title}: {len(fit)} predictions fit: {_listed(entry.where for entry in fit)}. Choose: {_ways(fit)}.")
    (entry,) = fit
    if entry.unit is not None and entry.unit != column.unit:
        raise UserError(f"{entry.where}: {entry.framework}, {entry.model} is in {entry.unit}, and gold in {column.unit}.")
    return entry


def _ways(differing: Sequence[Entry] | Sequence[Column]) -> str:
    """The options that tell ``differing`` apart, each with its values."""
    ways = []
    for field in CONDITIONS:
        values: dict[Any, None] = dict.fromkeys(getattr(item, field, None) for item in differing)
        said = [value for value in values if value is not None]
        if len(values) > 1 and said:
            prefix = f"{names.framework(differing[0].framework)}=" if field == "variant" and isinstance(differing[0], Entry) else ""
            ways.append(f"--{field} " + " or ".join(f"{prefix}{value}" for value in said))
    return ", ".join(ways)


def _listed(texts: Iterable[str], most: int = 6) -> str:
    found = list(texts)
    return ", ".join(found[:most]) + (f" and {len(found) - most} more" if len(found) > most else "")


def differing_conditions(matched: Matched) -> list[str]:
    """Return a line for each condition in which predictions differ from the gold that they are held against."""
    columns: Mapping[str, Column] = {column.name: column for column in matched.columns}
    seen: dict[str, list[str]] = {}
    for (_, name), entry in matched.pairs.items():
        for field in ("mode", "precision", "batch"):
            wanted, has = getattr(columns[name], field), getattr(entry, field)
            if wanted is not None and has is not None and wanted != has:
                seen.setdefault(f"{field} {has}, and gold's is {wanted}", []).append(name)
    return [f"{_listed(dict.fromkeys(models))}: {what}" for what, models in seen.items()]
