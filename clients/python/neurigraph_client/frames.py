"""Data frames of what the client returns. It is not imported with the client, because pandas loads slowly."""

from collections.abc import Iterable

import pandas

from neurigraph_pipelines.views.base import View


def to_dataframe(views: Iterable[View]) -> pandas.DataFrame:
    """Return one row for each memory, fact, hit or other view, with a column for each field.

    Args:
        views: What a call that lists returns; of a search, its ``hits``.
    """
    return pandas.DataFrame([view.model_dump() for view in views])
