"""What is printed of gold tables."""

from harness.gold import published
from harness.gold.published import Gold
from harness.report.scores import value
from harness.report.sheets import Sheet, comma_separated, markdown


def overview(golds: list[Gold]) -> Sheet:
    """Return a line a table."""
    rows = []
    for gold in golds:
        numbers, without = gold.count()
        rows.append((gold.name, gold.title, gold.hardware, str(len(gold.frameworks)), str(len(gold.columns)), str(numbers), str(without)))
    return Sheet("Gold tables", ("name", "title", "hardware", "frameworks", "columns", "numbers", "N/A"), tuple(rows), left=3, names=1)


def table(gold: Gold) -> Sheet:
    """Return a table of throughputs with its conditions: models down, frameworks across."""
    rows = tuple(
        (
            column.name,
            column.unit,
            *(value(gold.cells[framework, column.name], gold.words.get((framework, column.name), "N/A")) for framework in gold.frameworks),
        )
        for column in gold.columns
    )
    return Sheet(f"{gold.name}: {gold.title}", ("model", "unit", *gold.frameworks), rows, conditions(gold), left=2, names=1)


def conditions(gold: Gold) -> tuple[str, ...]:
    """What one must know to read the numbers."""
    return (f"Source: {gold.source}", f"Hardware: {gold.hardware}", f"±: {gold.spread}", *map(_sentence, gold.conditions), *_rules(gold))


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


def _rules(gold: Gold) -> list[str]:
    """How the file's times became rates."""
    parts = {"ms": "1000 x samples / milliseconds", "s": "samples / seconds"}
    return [f"Throughput here: {parts[given]}" for given in dict.fromkeys(column.given for column in gold.columns) if given in parts]


def as_csv(gold: Gold) -> str:
    """Return the throughputs as a long table, which `harness score` reads."""
    rows = []
    for framework in gold.frameworks:
        for column in gold.columns:
            found = gold.cells[framework, column.name]
            numbers = ("N/A", "N/A") if found is None else (repr(found.mean), "N/A" if found.std is None else repr(found.std))
            rows.append((framework, column.name, *numbers, column.unit))
    return comma_separated(("framework", "model", "value", "std", "unit"), rows)


def catalogue() -> str:
    """Return the tables that ship, with their conditions, as docs/gold.md holds them under its last heading."""
    found = []
    for gold in map(published.load, published.shipped()):
        numbers, without = gold.count()
        said = (f"Columns: {'; '.join(column.name for column in gold.columns)}", f"Frameworks: {', '.join(gold.frameworks)}")
        found.append(Sheet(f"{gold.name}: {gold.title}", lines=(f"{numbers} numbers, {without} N/A", *said, *conditions(gold))))
    return markdown(found)


if __name__ == "__main__":
    print(catalogue(), end="")
