"""Valid object keys, the same in every store, so that objects can move between stores."""

from __future__ import annotations

from neurigraph_pipelines.model.errors import InvalidInputError

MAX_KEY_BYTES = 1024
MAX_PART_BYTES = 255
PARTIAL = ".partial"
"""No key begins with this part: local stores keep unfinished objects there."""


def parts_of_key(key: str) -> list[str]:
    """Return the parts of a valid key, which slashes separate.

    Raises:
        InvalidInputError: The key is invalid; the message says why.
    """
    parts = key.split("/")
    try:
        sizes = [len(part.encode()) for part in parts]
    except UnicodeEncodeError:
        reason = "it is not valid Unicode"
    else:
        if sum(sizes) + len(sizes) - 1 > MAX_KEY_BYTES:
            reason = f"it is longer than {MAX_KEY_BYTES} bytes"
        elif max(sizes) > MAX_PART_BYTES:
            reason = f"a part is longer than {MAX_PART_BYTES} bytes"
        elif "\0" in key or "\\" in key:
            reason = "it contains a NUL or a backslash"
        elif not {"", ".", ".."}.isdisjoint(parts):
            reason = "a part is empty, `.` or `..`"
        elif parts[0] == PARTIAL:
            reason = f"`{PARTIAL}` is reserved for unfinished objects"
        else:
            return parts
    raise InvalidInputError(f"{key[:80]!r} cannot be the key of an object: {reason}.")


def shown(key: str) -> str:
    """Return the last part of an object key, an id, for a message: earlier parts name people and topics."""
    return repr(key.rpartition("/")[2][:MAX_PART_BYTES])


def is_key(key: str) -> bool:
    """Whether a key is valid."""
    try:
        return bool(parts_of_key(key))
    except InvalidInputError:
        return False


def check_range(offset: int, length: int) -> None:
    """Reject a range that no object can have.

    Raises:
        InvalidInputError: A number is negative.
    """
    if offset < 0 or length < 0:
        raise InvalidInputError(f"The offset and length of a range must be at least 0, not {offset} and {length}.")
