"""What lowering works with."""

from typing import Any, Dict, NamedTuple, Tuple

Symbol = Any  # mxnet carries no types
Symbols = Dict[str, Symbol]
Shape = Tuple[int, ...]


class Setting(NamedTuple):
    """What a lowering may want to know besides its node; ``shapes`` has every tensor of the graph, per sample."""

    train: bool
    batch: int
    dtype: str
    shapes: Dict[str, Shape]
