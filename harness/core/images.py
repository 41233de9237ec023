"""The two images that image generation starts from: a content and a style, made by formula where the user gives none."""

import base64
from typing import Any, Dict

import numpy as np

from harness.core.hookspecs import Arrays

MEAN = 120.0  # taken off every pixel, as chainer-gogh does
KINDS = ("content", "style")


def made(size: int) -> Arrays:
    """Return a pair as uint8 of shape (size, size, 3): a disc over a horizon, and stripes that bend.

    Only whole numbers are computed with, so that every machine gets the same bytes.
    """
    rows, columns = np.mgrid[0:size, 0:size].astype("int64")
    inside = (2 * rows - size) ** 2 + (2 * columns - size) ** 2 < (size * size) // 3
    sky = 255 * (size - 1 - rows) // max(1, size - 1)
    content = np.stack([np.where(inside, 230, sky // 2), np.where(inside, 160, sky), np.where(inside, 40, 255 - sky // 3)], axis=-1)
    wave = (16 * columns + rows * rows // max(1, size // 16)) // max(1, size // 16)
    style = np.stack([wave * 16 % 256, (wave * 7 + rows) % 256, (wave * 29) % 256], axis=-1)
    return {"content": content.astype("uint8"), "style": style.astype("uint8")}


def packed(images: Arrays) -> Dict[str, str]:
    """Return uint8 images of shape (size, size, 3) as text."""
    return {kind: base64.b64encode(images[kind].tobytes()).decode("ascii") for kind in KINDS}


def unpacked(texts: Dict[str, str], size: int) -> Arrays:
    """Return what ``packed`` was given. Raises ``ValueError`` for texts of another size."""
    return {kind: np.frombuffer(base64.b64decode(texts[kind]), dtype="uint8").reshape(size, size, 3) for kind in KINDS}


def centred(image: Any, dtype: str = "float32") -> np.ndarray:
    """Return an image as a network wants it: (3, size, size), blue first, less the mean."""
    return np.ascontiguousarray(image[:, :, ::-1].transpose(2, 0, 1).astype(dtype) - np.dtype(dtype).type(MEAN))
