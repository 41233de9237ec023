"""The user's own pair of images for image generation: a folder with a file content.* and a file style.*, of any kind that Pillow reads."""

from pathlib import Path

import numpy as np
from PIL import Image, UnidentifiedImageError

from harness.core import images
from harness.errors import UserError


def check(folder: Path) -> None:
    """Raise ``UserError`` unless the folder holds a pair."""
    for kind in images.KINDS:
        _opened(folder, kind)


def packed(folder: Path, size: int) -> dict[str, str]:
    """Return the pair as a job document has it: the longer side ``size`` pixels, at the bottom right of a black square."""
    found = {}
    for kind in images.KINDS:
        picture = _opened(folder, kind)
        scale = size / max(picture.size)
        width, height = (max(1, round(side * scale)) for side in picture.size)
        square = Image.new("RGB", (size, size))
        square.paste(picture.resize((width, height)), (size - width, size - height))
        found[kind] = np.asarray(square)
    return images.packed(found)


def _opened(folder: Path, kind: str) -> Image.Image:
    files = sorted(folder.glob(f"{kind}.*")) if folder.is_dir() else []
    if len(files) != 1:
        wanted = ", ".join(path.name for path in files) if files else "none"
        raise UserError(f"{folder}: image generation wants one file {kind}.* here, and there is {wanted}.")
    try:
        return Image.open(files[0]).convert("RGB")
    except (UnidentifiedImageError, OSError, Image.DecompressionBombError) as error:
        raise UserError(f"{files[0]}: is no image that can be read: {error}.")
