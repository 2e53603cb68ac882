"""The field that all pages of lists have, for the responses that are no views yet."""

from neurigraph_pipelines.views.pages import NEXT_CURSOR

__all__ = ["NEXT_CURSOR"]
