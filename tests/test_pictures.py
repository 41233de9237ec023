"""The user's own images for image generation."""

import numpy as np
import pytest
from PIL import Image

from harness import pictures
from harness.core import images
from harness.errors import UserError


@pytest.fixture
def folder(tmp_path):
    Image.new("RGB", (40, 20), (200, 100, 50)).save(tmp_path / "content.png")
    Image.new("L", (10, 10), 77).save(tmp_path / "style.jpg")
    return tmp_path


def test_a_picture_keeps_its_shape_at_the_bottom_right(folder):
    pair = images.unpacked(pictures.packed(folder, 16), 16)
    assert (pair["content"][:8] == 0).all() and (pair["content"][8:] == (200, 100, 50)).all()
    assert np.abs(pair["style"].astype(int) - 77).max() <= 2  # grey becomes red, green and blue; JPEG rounds


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda folder: (folder / "style.jpg").unlink(), r"wants one file style\.\* here, and there is none"),
        (lambda folder: (folder / "style.gif").write_bytes(b""), r"there is style\.gif, style\.jpg"),
        (lambda folder: (folder / "content.png").write_bytes(b"no picture"), r"content\.png: is no image that can be read"),
    ],
)
def test_what_is_wrong_with_a_folder_is_said(folder, spoil, said):
    spoil(folder)
    with pytest.raises(UserError, match=said):
        pictures.check(folder)


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(UserError, match="and there is none"):
        pictures.check(tmp_path / "nowhere")
