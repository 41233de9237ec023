"""Tables in files: CSV, JSON and Markdown, told apart by the end of the name."""

import contextlib
import csv
import io
import json
import re
from pathlib import Path
from typing import Any

from harness.errors import UserError
from harness.gold import cells, names
from harness.gold.grid import Grid, entries, entry
from harness.gold.records import Entry

LARGEST_FILE = 10_000_000  # bytes; a table of a paper has some thousands
SUFFIXES = (".csv", ".json", ".md", ".markdown")


def read(path: Path) -> list[Entry]:
    """Return the entries of the table in ``path``; raise ``UserError``, naming file and line, where there is none to read."""
    readers = {".csv": from_csv, ".json": from_json, ".md": from_markdown, ".markdown": from_markdown}
    if path.suffix.lower() not in readers:
        raise UserError(f"{path}: a table is a file whose name ends with {', '.join(SUFFIXES)}.")
    found = readers[path.suffix.lower()](str(path), text_of(path))
    if not found:
        raise UserError(f"{path}: there is no table in it.")
    return found


def text_of(path: Path) -> str:
    """Return the file's text; raise ``UserError`` for what is no text."""
    try:
        if path.is_file() and path.stat().st_size > LARGEST_FILE:
            raise UserError(f"{path}: is larger than {LARGEST_FILE:,} bytes, which no table of throughputs is.")
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}.")
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: is no UTF-8 text: byte {error.start} is {error.object[error.start]:#04x}.")


def from_csv(source: str, text: str, first_line: int = 1) -> list[Entry]:
    """Read comma-separated values; ``first_line`` is where ``text`` begins in its file. Empty lines are left out."""
    rows: list[tuple[int, list[str]]] = []
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    begins = 1
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                rows.append((begins + first_line - 1, row))
            begins = reader.line_num + 1
    except csv.Error as error:
        raise UserError(f"{source}:{reader.line_num + first_line - 1}: is no valid CSV: {error}.")
    if not rows:
        return []
    return entries(Grid(source, rows[0][1], rows[1:], line=rows[0][0]))


def from_json(source: str, text: str) -> list[Entry]:
    """Read ``{framework: {model: cell}}`` or a list of ``{"framework", "model", "value"}`` with perhaps std and unit.

    A cell is a number, a text as in the other formats, null for N/A, or an object with value, std and unit.
    """
    try:
        document = json.loads(text, object_pairs_hook=_unlike, parse_constant=_no_constant, parse_int=str, parse_float=str)
    except RecursionError:
        raise UserError(f"{source}: is nested too deeply for a table.")
    except ValueError as error:
        raise UserError(f"{source}: is no valid JSON: {error}.")
    if isinstance(document, dict):
        return [
            _json_entry(f"{source}: {cells.shown(framework)}.{cells.shown(model)}", cell, {"framework": framework, "model": model})
            for framework, models in document.items()
            for model, cell in _object(f"{source}: {cells.shown(framework)}", models).items()
        ]
    if isinstance(document, list):
        return [_json_entry(f"{source}: [{number}]", item, {}) for number, item in enumerate(document)]
    raise UserError(f"{source}: is neither an object of frameworks nor a list of cells.")


def _json_entry(place: str, cell: Any, pair: dict[str, str]) -> Entry:
    """One cell; ``pair`` has framework and model where the cell's place says them and the cell does not."""
    fields = _object(place, cell) if not pair or isinstance(cell, dict) else {"value": cell}
    needed = {"framework", "model", "value"} - set(pair)
    for name in fields:
        if name not in needed | {"std", "unit"}:
            must = ", ".join(sorted(needed))
            raise UserError(f"{place}: has the field {cells.shown(name)}; a cell has {must}, and perhaps std and unit.")
    texts = {name: _json_text(place, name, value) for name, value in fields.items()}
    for name in sorted(needed - set(texts)):
        raise UserError(f"{place}: {name} is missing.")
    common = {}
    if texts.get("unit", "").strip():
        try:
            common = {"unit": names.unit(texts["unit"])}
        except UserError as error:
            raise UserError(f"{place}: {error}")
    texts |= pair
    return entry(place, texts["framework"], texts["model"], texts["value"], texts.get("std", ""), common)


def _json_text(place: str, name: str, value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):  # numbers come as their own text
        raise UserError(f"{place}: {name} is {cells.shown(json.dumps(value))}; write a number, a text or null.")
    return value


def _object(place: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UserError(f"{place}: is no object.")
    return value


def _unlike(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names_seen = [name for name, _ in pairs]
        twice = next(name for name in names_seen if names_seen.count(name) > 1)
        raise ValueError(f"{cells.shown(twice)} stands there twice in one object")
    return found


def _no_constant(text: str) -> None:
    raise ValueError(f"{text} is no number of JSON's; write null where there is no number")


def from_markdown(source: str, text: str) -> list[Entry]:
    """Read every table of pipes. A title as this harness writes it above a table says mode, precision, device and unit.

    Its tables of ratios are passed over.
    """
    found: list[Entry] = []
    lines = text.splitlines()
    common: dict[str, Any] = {}
    number, ratios = 0, False
    while number < len(lines):
        if lines[number].startswith("#"):
            ratios = re.fullmatch(r"#{1,6} .*: ratios to .+", lines[number].strip()) is not None
        common = {} if lines[number].startswith("#") else common
        common = _title(lines[number]) or common
        block = 0
        while number + block < len(lines) and lines[number + block].lstrip().startswith("|"):
            block += 1
        if block >= 2 and not ratios and re.fullmatch(r"[\s|:-]+", lines[number + 1]):
            rows = [(number + index + 1, _cells(lines[number + index])) for index in range(block)]
            found += entries(Grid(source, rows[0][1], rows[2:], common, line=rows[0][0]))
        number += max(1, block)
    return found


def _title(line: str) -> dict[str, Any]:
    said = re.fullmatch(r"#{1,6} (Training|Inference), (fp32|tf32|fp16|bf16|int8), (cpu|cuda(?::\d+)?): ([\w, ]+ per second)", line.strip())
    if said is None:
        return {}
    common = {"mode": "train" if said[1] == "Training" else "infer", "precision": said[2], "device": said[3]}
    with contextlib.suppress(UserError):  # several units stand in the columns
        common["unit"] = names.unit(said[4])
    return common


def _cells(line: str) -> list[str]:
    """The texts of a row, without emphasis and the number of a note."""
    inner = line.strip().removeprefix("|")
    parts = re.split(r"(?<!\\)((?:\\\\)*)\|", inner)
    texts = ["".join(parts[index : index + 2]) for index in range(0, len(parts), 2)]
    if len(texts) > 1 and not texts[-1].strip():  # after the closing pipe
        texts.pop()
    return [_plain(text) for text in texts]


def _plain(text: str) -> str:
    bare = re.sub(r" \[[0-9]{1,4}\]$", "", text.strip())  # the number of a note
    bare = re.sub(r"\A(\*\*|__)(.*)\1\Z", r"\2", bare, flags=re.DOTALL)
    bare = re.sub(r"(?<=[0-9]) \([0-9]{1,9}\)$", "", bare)  # of steps that a number of ours rests on
    return re.sub(r"\\([\\|])", r"\1", bare).replace("&lt;", "<")
