"""What a table of throughputs is made of."""

from typing import Annotated

import pydantic

from harness.config import Mode, Precision


class Record(pydantic.BaseModel):
    """Immutable; refuses unknown fields and numbers that are not finite."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Value(Record):
    """A throughput, and the spread that its source gives with ±, in the same unit. Zero and less are no throughput."""

    mean: float = pydantic.Field(gt=0)
    std: float | None = pydantic.Field(None, ge=0)

    @property
    def low(self) -> float:
        return self.mean - (self.std or 0.0)

    @property
    def high(self) -> float:
        return self.mean + (self.std or 0.0)

    def over(self, other: "Value") -> "Value":
        """Return the ratio; its spread is that of independent errors, to first order, where both have one."""
        ratio = self.mean / other.mean
        if self.std is None or other.std is None:
            return Value(mean=ratio)
        relative = ((self.std / self.mean) ** 2 + (other.std / other.mean) ** 2) ** 0.5
        return Value(mean=ratio, std=ratio * relative)


Name = Annotated[str, pydantic.Field(min_length=1)]


class Entry(Record):
    """One cell of a table or of a run, as its source names it. What the source does not say is None."""

    framework: Name
    model: Name
    value: Value | None  # None: no number
    word: str = "N/A"  # what stands in the number's place
    relative: bool = False  # the ± was given in percent of the number
    unit: str | None = None
    mode: Mode | None = None
    precision: Precision | None = None
    device: str | None = None
    variant: str | None = None
    batch: int | None = None
    size: int | None = None
    where: str = ""  # for messages: file and line, or the run's cell
