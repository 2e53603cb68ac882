"""The limits of texts that users state."""

MAX_TITLE_LENGTH = 256
"""Characters in the title of a conversation, document or note."""

MAX_RECORD_TITLE_LENGTH = 200
"""Characters in the title that is made for a record."""

MAX_CONTENT_BYTES = 1_048_576
"""Bytes of UTF-8 in the text of a note, a document or, by default, a message."""

MAX_TAGS = 32
"""Tags of a note or fact."""

MAX_TAG_LENGTH = 64
"""Characters in a tag."""

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
