"""What may be the key of an object: the same in every store, so that objects can move from one to another.

What the keys mean belongs to their users, and where a store puts them to the store.
"""

from __future__ import annotations

from neurigraph_pipelines.errors import InvalidInputError

MAX_KEY_BYTES = 1024
MAX_PART_BYTES = 255
PARTIAL = ".partial"
"""No key begins with this part: a folder keeps objects there while they are written."""


def parts_of_key(key: str) -> list[str]:
    """The parts of a valid key, which slashes divide.

    Raises:
        InvalidInputError: The key is not valid; the message says why.
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
            reason = f"`{PARTIAL}` is kept for objects being written"
        else:
            return parts
    raise InvalidInputError(f"{key[:80]!r} cannot be the key of an object: {reason}.")


def is_key(key: str) -> bool:
    """Whether a key is valid."""
    try:
        return bool(parts_of_key(key))
    except InvalidInputError:
        return False


def check_range(offset: int, length: int) -> None:
    """Refuse a range that no object can have.

    Raises:
        InvalidInputError: A number is negative.
    """
    if offset < 0 or length < 0:
        raise InvalidInputError(f"A range begins and extends from 0 upwards, not {offset} and {length}.")
