"""When two names mean the same framework or model, and when two units are the same."""

import re
import unicodedata
from typing import NamedTuple

from harness.core.models import MODELS
from harness.errors import UserError
from harness.suggest import unknown

# By the folded name that stands for all. "Torch" is no "PyTorch": the older tables have Torch 7.
FRAMEWORKS = {
    "tensorflow": ("tf",),
    "paddlepaddle": ("paddle",),
    "mxnet": ("apachemxnet",),
    "cntk": ("microsoftcognitivetoolkit", "cognitivetoolkit"),
}
MODELS_ALSO = {
    "gnmtv2": ("gnmt",),
    "ncf": ("neumf", "neuralcollaborativefiltering"),
    "mobilenet": ("mobilenetv1",),
    "vgg11": ("vgga",),
    "vgg16": ("vggd",),
    "vgg19": ("vgge",),
    "inceptionv1": ("googlenet", "googlenetv1"),
    "alexnet": ("alexnetowt",),
}
NOUNS = {
    "images": ("image", "img", "imgs"),
    "tokens": ("token", "tok", "toks"),
    "samples": ("sample",),
    "sequences": ("sequence", "seq", "seqs"),
    "batches": ("batch",),
}
UNITS = tuple(f"{noun}/s" for noun in NOUNS)


def _inverted(aliases: dict[str, tuple[str, ...]]) -> dict[str, str]:
    return {alias: name for name, others in aliases.items() for alias in others}


_FRAMEWORKS, _NOUNS = _inverted(FRAMEWORKS), _inverted(NOUNS)
_MODELS = _inverted(MODELS_ALSO) | {re.sub(r"[^a-z0-9]", "", model.title.casefold()): model.name for model in MODELS.values()}


def fold(text: str) -> str:
    """Return letters and digits alone, in lower case: "ResNet-50" and "resnet 50" are one name."""
    return "".join(c for c in unicodedata.normalize("NFKC", text).casefold() if c.isalnum())


def framework(text: str) -> str:
    """Return what stands for the framework; a framework not known here stands for itself."""
    return _FRAMEWORKS.get(fold(text), fold(text))


class Heading(NamedTuple):
    """A model as a table's heading names it, with the batch, the samples' size and the unit where it says them."""

    model: str
    batch: int | None = None
    size: int | None = None
    unit: str | None = None


def heading(text: str) -> Heading:
    """Return what "ResNet-50, batch 8, 32 px, images/s" means."""
    words = " ".join(text.split())
    rate = "|".join(map(re.escape, UNITS))
    found = re.fullmatch(rf"(.*?)(?:,? batch ([0-9]{{1,9}}))?(?:,? ([0-9]{{1,9}}) (?:px|tokens))?(?:, ({rate}))?", words, re.IGNORECASE)
    name, batch, size, said = found.groups() if found else (words, None, None, None)
    own = said.casefold() if said else None
    return Heading(_MODELS.get(fold(name), fold(name)), int(batch) if batch else None, int(size) if size else None, own)


def unit(text: str) -> str:
    """Return "images/s" for "img/sec", "images per second" and the like; raise ``UserError`` for what is no rate."""
    found = re.fullmatch(r"([a-z]+) ?(?:/| per | ) ?(?:s|sec|second)", " ".join(text.split()), re.IGNORECASE)
    if found:
        noun = found[1].casefold()
        if (name := _NOUNS.get(noun, noun)) in NOUNS:
            return f"{name}/s"
    if text.strip().casefold() in {"s", "ms", "us", "seconds", "milliseconds"}:
        raise UserError(f"'{text.strip()}' is a time. Give rates: {', '.join(UNITS)}.")
    raise UserError(unknown("unit of throughput", text.strip()[:40], UNITS))
