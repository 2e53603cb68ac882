"""Reading the conversations that a user brings, one module a format.

``reader`` is the way in. Nothing here stores anything or knows of a database; what a message must be like is
for ``ingestion.hygiene`` to say.
"""

from neurigraph_pipelines.ingestion.imports.reader import FORMATS, detect_format, is_dialogue, read_conversations
from neurigraph_pipelines.ingestion.imports.source import content_size

__all__ = ["FORMATS", "content_size", "detect_format", "is_dialogue", "read_conversations"]
