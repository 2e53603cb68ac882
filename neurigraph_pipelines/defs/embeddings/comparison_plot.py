"""A bar chart as an image in Markdown, as Dagster's UI shows it beside a table. Knows labels and shares only."""

from base64 import b64encode
from collections.abc import Sequence
from html import escape

import dagster as dg

_COLOURS = ("#7b8794", "#3e63dd")
_BAR, _GAP, _LEFT, _WIDTH = 14, 10, 230, 300


def bar_chart(names: tuple[str, str], bars: Sequence[tuple[str, float, float]]) -> dg.MarkdownMetadataValue:
    """Return pairs of horizontal bars.

    Args:
        names: What the first and the second bar of each pair stand for.
        bars: Label and both shares, 0 to 1.
    """
    drawn, top = [], 0
    for number, name in enumerate(names):
        drawn.append(_text(_LEFT + number * _WIDTH // 2, top + _BAR, name, _COLOURS[number]))
    top += _BAR + _GAP
    for label, *shares in bars:
        drawn.append(_text(0, top + _BAR, label))
        for share, colour in zip(shares, _COLOURS, strict=True):
            length = round(share * _WIDTH, 1)
            drawn.append(f'<rect x="{_LEFT}" y="{top}" width="{length}" height="{_BAR}" fill="{colour}"/>')
            drawn.append(_text(_LEFT + length + 4, top + _BAR - 2, f"{share:.3f}"))
            top += _BAR
        top += _GAP
    size = f'width="{_LEFT + _WIDTH + 60}" height="{top}"'
    image = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif">{"".join(drawn)}</svg>'
    encoded = b64encode(image.encode()).decode()
    return dg.MetadataValue.md(f"![comparison](data:image/svg+xml;base64,{encoded})")


def _text(x: float, y: float, text: str, colour: str = "#1f2933") -> str:
    return f'<text x="{x}" y="{y}" font-size="12" fill="{colour}">{escape(text)}</text>'
