"""The limits of texts that users state."""

MAX_TITLE_LENGTH = 500
"""Characters in the title of a conversation or document."""

MAX_RECORD_TITLE_LENGTH = 200
"""Characters in the title of a record or note."""

MAX_KEYWORDS = 64
"""Keywords in one field of a record: with more, every record would match everything."""

MAX_KEYWORD_LENGTH = 120
"""Characters in a keyword."""

MAX_LAYER_DEPTH = 5
"""Deepest layer of a node below the user root, which is layer 0."""

RECORD_DIMENSIONS = 1536
"""Width of a record's embedding column; shorter vectors are padded with zeros."""

PASSAGE_DIMENSIONS = 512
"""Width of a passage's half-precision embedding columns."""
