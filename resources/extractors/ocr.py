"""Recognition of words in images, by the models that the wheel of rapidocr carries; nothing is fetched.

Runs in the process of the extractor only. It works on one thread, so processor time and elapsed time are alike.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from PIL.Image import Image

LONGEST_SIDE = 2_000
"""Pixels to which a page is rendered or made smaller: 170 dots per inch of A4."""

_DETECTION_SIDE = 1_280
"""Pixels of the image in which lines are looked for; they are read in the larger one."""

_SHARE_OF_TIME = 0.8
_PARAMETERS = {
    "Global.log_level": "critical",
    "Global.max_side_len": LONGEST_SIDE,
    "Det.limit_type": "max",
    "Det.limit_side_len": _DETECTION_SIDE,
    "EngineConfig.onnxruntime.intra_op_num_threads": 1,
    "EngineConfig.onnxruntime.inter_op_num_threads": 1,
}
_Box = tuple[float, float, float]
"""Left edge, middle and height of a piece of a line, in pixels."""


class Recognizer:
    """Reads images until most of its time is over.

    Args:
        seconds: Time limit of the process.
    """

    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + _SHARE_OF_TIME * seconds
        from rapidocr import RapidOCR  # takes a second or more

        self._engine: Any = RapidOCR(params=_PARAMETERS)

    @property
    def has_time(self) -> bool:
        """Whether there is time for another image."""
        return time.monotonic() < self._until

    def text_of(self, image: Image) -> str:
        """Return the words of an image, line by line from top to bottom; columns are not told apart."""
        found = self._engine(np.asarray(image.convert("RGB")))
        if found.boxes is None or found.txts is None:
            return ""
        pieces = [(_box(corners), text) for corners, text in zip(found.boxes, found.txts, strict=True)]
        return "\n".join(" ".join(line) for line in _lines(pieces))


def _box(corners: Any) -> _Box:
    top, bottom = float(corners[:, 1].min()), float(corners[:, 1].max())
    return float(corners[:, 0].min()), (top + bottom) / 2, bottom - top


def _lines(pieces: Sequence[tuple[_Box, str]]) -> list[list[str]]:
    """Return the texts of each line from left to right; a piece is of a line if its middle is beside the one before."""
    lines: list[list[tuple[_Box, str]]] = []
    for piece in sorted(pieces, key=lambda one: one[0][1]):
        box = piece[0]
        if lines and abs(box[1] - lines[-1][-1][0][1]) < min(box[2], lines[-1][-1][0][2]) / 2:
            lines[-1].append(piece)
        else:
            lines.append([piece])
    return [[text for _, text in sorted(line, key=lambda one: one[0][0])] for line in lines]
