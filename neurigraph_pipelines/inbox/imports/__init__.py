"""Readers of conversation files, one module per format; ``reader`` is the entry point.

Nothing here stores anything or uses a database; ``text.hygiene`` validates messages.
"""

from neurigraph_pipelines.inbox.imports.reader import FORMATS, detect_format, is_dialogue, read_conversations
from neurigraph_pipelines.inbox.imports.source import content_size

__all__ = ["FORMATS", "content_size", "detect_format", "is_dialogue", "read_conversations"]
