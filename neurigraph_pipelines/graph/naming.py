"""Names of nodes: display form, comparison key, and Postgres schema name; and slugs of users.

Pure functions of text. ``entities`` looks names up. Nothing here quotes SQL: statements still use
``psycopg.sql.Identifier``.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from neurigraph_pipelines.model.errors import InvalidInputError

MAX_NAME_LENGTH = 120
"""Longest name of a node in characters; longer names are truncated."""

MAX_IDENTIFIER_BYTES = 63
"""Longest identifier that Postgres does not truncate (NAMEDATALEN - 1)."""

_UNPRESENTABLE = re.compile(r"[<>{}\[\]\\|`=;]|--|/\*|://")
_SLUG = re.compile(r"[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?")
_LOSSLESS = re.compile(r"[A-Za-z0-9]+")
_DIGEST_LENGTH = 16
_DIGEST_LIKE = re.compile(rf"[a-z2-7]{{{_DIGEST_LENGTH}}}")
_RESERVED = re.compile(r"(pg|information_schema|neurigraph|dagster|public)(_|$)")


def display_name(name: str) -> str:
    """Return ``name`` as stored and shown: NFC, no control characters, single spaces, at most 120 characters."""
    return _tidy(unicodedata.normalize("NFC", name))


def checked_name(name: str) -> str:
    """Validate a name that a person gives a node, and return it as stored.

    Raises:
        InvalidInputError: The name has no visible character, or is too long.
    """
    shown = display_name(name)
    if not name_key(name):
        raise InvalidInputError("the name of a node has no visible character: give it one")
    if len(" ".join(name.split())) > MAX_NAME_LENGTH:
        raise InvalidInputError(f"the name of a node has at most {MAX_NAME_LENGTH} characters: shorten it")
    return shown


@lru_cache(maxsize=65_536)
def name_key(name: str) -> str:
    """Return the key by which names are compared: NFKC, case folded, tidied like ``display_name``."""
    return _tidy(fold(name))


def fold(text: str) -> str:
    """Return ``text`` without differences of case and width."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def is_presentable(name: str) -> bool:
    """Return whether ``name`` is acceptable as the label of a node.

    Markup, code, URLs, names without a letter, too long names and names of more than eight words are not.
    """
    shown = display_name(name)
    return (
        len(name) <= MAX_NAME_LENGTH
        and len(shown.split()) <= 8
        and any(character.isalpha() for character in shown)
        and not _UNPRESENTABLE.search(shown)
    )


def slug(name: str) -> str:
    """Return ``name`` in ``a-z``, ``0-9`` and ``_``, without accents and other non-ASCII characters.

    Not injective and never empty: a name without such characters gives ``n`` and a digest.
    """
    decomposed = unicodedata.normalize("NFKD", name_key(name))
    plain = re.sub(r"[^a-z0-9]+", "_", decomposed.encode("ascii", "ignore").decode()).strip("_")
    return plain or "n" + _digest([name])[:8]


def schema_name(user_slug: str, path: Sequence[str]) -> str:
    """Return the node schema of ``path``, such as ``bob_family_dave``: at most 63 bytes of ``a-z0-9_``.

    The name ends in a digest of the exact path if slugging lost more than the case of ASCII letters, or if the name is
    too long, reserved, or looks like a name with a digest. So two paths share a name only if they differ in ASCII case
    alone, which ``name_key`` ignores too.
    """
    parts = [user_slug, *path]
    slugs = [slug(part) for part in parts]
    plain = "_".join(slugs)
    reserved = _RESERVED.match(plain) or not plain[0].isalpha()
    if (
        all(_LOSSLESS.fullmatch(part) for part in parts)
        and len(plain) <= MAX_IDENTIFIER_BYTES
        and not reserved
        and not _DIGEST_LIKE.fullmatch(slugs[-1])
    ):
        return plain
    head = ("u_" if reserved else "") + plain
    return f"{head[: MAX_IDENTIFIER_BYTES - _DIGEST_LENGTH - 1].rstrip('_')}_{_digest(parts)}"


def _tidy(text: str) -> str:
    """Remove control characters, replace surrogates, collapse spaces and truncate to the longest name."""
    kept = "".join(c if c.isspace() else _visible(c) for c in text[: 8 * MAX_NAME_LENGTH])
    return " ".join(kept.split())[:MAX_NAME_LENGTH].rstrip()


def _visible(character: str) -> str:
    category = unicodedata.category(character)
    if category == "Cs":
        return "\ufffd"
    # Joiners belong to emoji and Indic words; other format characters are invisible and only deceive.
    return "" if category == "Cc" or (category == "Cf" and character not in "\u200c\u200d") else character


def _digest(parts: Sequence[str]) -> str:
    """Return an 80-bit digest of the exact parts; JSON separates them and can encode lone surrogates."""
    raw = hashlib.sha256(json.dumps(list(parts)).encode()).digest()[:10]
    return base64.b32encode(raw).decode().lower()


def is_slug(text: str) -> bool:
    """Return whether a text can be the slug of a user."""
    return _SLUG.fullmatch(text) is not None


def require_slug(text: str) -> None:
    """Require that a text can be the slug of a user.

    Raises:
        InvalidInputError: It cannot.
    """
    if not is_slug(text):
        raise InvalidInputError(
            "a slug is 1 to 63 characters of a-z, 0-9, '-' and '_', and begins and ends with a letter or digit"
        )
