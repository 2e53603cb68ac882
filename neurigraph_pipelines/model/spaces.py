"""Container tags, which name spaces, and the limits of a space."""

from __future__ import annotations

import re
from typing import Any

MAX_TAGS = 100
"""Most container tags that one request, key or filter names."""

MAX_NAME_LENGTH = 300
MAX_ENTITY_CONTEXT_LENGTH = 1_500

_TAG = re.compile(r"[A-Za-z0-9_:-]{1,100}", re.ASCII)


def is_container_tag(text: Any) -> bool:
    """Return whether a value is a well-formed container tag, such as ``sm_project_garden``."""
    return isinstance(text, str) and _TAG.fullmatch(text) is not None
